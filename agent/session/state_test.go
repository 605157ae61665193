package session

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/policy"
)

// folded is the state of a log of these events.
func folded(t *testing.T, events ...*Event) *State {
	t.Helper()
	Chain(0, "", events)
	s := NewState()
	for _, e := range events {
		if err := s.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// The words for where a session stands are these and no others.
func TestPhases(t *testing.T) {
	want := []Phase{"queued", "running", "awaiting approval", "awaiting answer", "waiting for the model", "waiting for GitHub", "waiting for checks",
		"out of budget", "done", "answered", "planned", "reviewed", "no changes", "stopped", "failed", "crashed"}
	if d := cmp.Diff(want, Phases()); d != "" {
		t.Errorf("words (-want +got):\n%s", d)
	}
	for status, want := range map[Status]Phase{
		StatusDone: PhaseDone, StatusNoChanges: PhaseNoChanges, StatusAwaitingApproval: PhaseAwaitingApproval, StatusAwaitingAnswer: PhaseAwaitingAnswer,
		StatusOutOfBudget: PhaseOutOfBudget, StatusStopped: PhaseStopped, StatusFailed: PhaseFailed, StatusCrashed: PhaseCrashed, StatusInterrupted: PhaseRunning, StatusMoved: PhaseRunning, "of a later version": PhaseStopped,
	} {
		s := folded(t, NewEvent(TypeEnded, 1, Ended{Outcome: Outcome{Status: status}}))
		if s.Phase != want || !slices.Contains(Phases(), s.Phase) {
			t.Errorf("%s: %q, want %q", status, s.Phase, want)
		}
	}
}

// A request waits, is granted, and is used up by what it is about, whichever
// of the calls and of the requests one looks at.
func TestRequests(t *testing.T) {
	run := Call{ID: "c1-1", Name: "run_terminal_command"}
	asked := Asked{ID: "aa", Kind: AskApproval, Call: run.ID, Digest: "d"}
	publish := Asked{ID: "bb", Kind: AskApproval, Call: "p1", Tool: PublishTool, Digest: "d", Review: &Review{Commit: "r"}}
	opened, answered := NewEvent(TypeOpened, 0, Opened{Task: Task{Base: "base", Branch: "b"}}), NewEvent(TypeAnswer, 1, Answer{Calls: []Call{run}})
	says := func(id string, v policy.ApprovalState) *Event {
		return NewEvent(TypeResolved, 1, Resolved{ID: id, Verdict: v})
	}
	both := []*Event{opened, answered, NewEvent(TypeAsked, 1, asked), NewEvent(TypeAsked, 1, publish), NewEvent(TypeEnded, 1, Ended{Outcome: Outcome{Status: StatusAwaitingApproval}})}
	for _, tt := range []struct {
		name          string
		then          []*Event
		open, granted []string
		phase         Phase
		outcome       bool
	}{
		{"both wait", nil, []string{"aa", "bb"}, nil, PhaseAwaitingApproval, true},
		{"one is answered", []*Event{says("aa", policy.Approved)}, []string{"bb"}, []string{"aa"}, PhaseAwaitingApproval, false},
		{"both are", []*Event{says("aa", policy.Approved), says("bb", policy.Denied)}, nil, []string{"aa"}, PhaseRunning, false},
		{"words beside", []*Event{NewEvent(TypeNote, 1, Note{Kind: NoteSaid, Text: "x"})}, []string{"aa", "bb"}, nil, PhaseAwaitingApproval, true},
		{"one is answered, and words", []*Event{says("aa", policy.Approved), NewEvent(TypeNote, 1, Note{Kind: NoteSaid, Text: "x"})}, []string{"bb"}, []string{"aa"}, PhaseAwaitingApproval, false},
		{"it runs", []*Event{says("aa", policy.Approved), NewEvent(TypeStarted, 1, Started{Call: run.ID})}, []string{"bb"}, []string{"aa"}, PhaseRunning, false},
		{"it ran", []*Event{says("aa", policy.Approved), NewEvent(TypeStarted, 1, Started{Call: run.ID}), NewEvent(TypeResult, 1, Result{Call: run.ID, OK: true})}, []string{"bb"}, nil, PhaseRunning, false},
		{"denied after all", []*Event{says("aa", policy.Approved), says("aa", policy.Denied)}, []string{"bb"}, nil, PhaseAwaitingApproval, false},
		{"published", []*Event{says("bb", policy.Approved), NewEvent(TypeCheckpoint, 1, Checkpoint{Commit: "c", Parent: "base"})}, []string{"aa"}, nil, PhaseRunning, false},
		{"taken back", []*Event{NewEvent(TypeNote, 1, Note{Kind: NoteReverted, Text: "x"})}, []string{"aa"}, nil, PhaseRunning, true},
	} {
		s := folded(t, append(slices.Clone(both), tt.then...)...)
		ids := func(list []Asked) (out []string) {
			for _, a := range list {
				out = append(out, a.ID)
			}
			return out
		}
		if d := cmp.Diff([][]string{tt.open, tt.granted}, [][]string{ids(s.Open()), ids(s.Granted())}); d != "" {
			t.Errorf("%s: open and granted (-want +got):\n%s", tt.name, d)
		}
		if s.Phase != tt.phase || (s.Outcome != nil) != tt.outcome {
			t.Errorf("%s: %s with outcome %v", tt.name, s.Phase, s.Outcome)
		}
		if tt.name == "published" && (s.Requests[1].Commit != "c" || s.Publish != nil) {
			t.Errorf("published: %+v", s.Requests[1])
		}
	}
}

// What a call does is what the gate recorded. Logs that do not say so are read
// by the names of their tools; there, a call by an unknown name may have
// changed anything.
func TestUnchecked(t *testing.T) {
	for _, tt := range []struct {
		name      string
		tool      string
		kind      policy.Kind
		unchecked bool
		edits     int
	}{
		{"recorded, writes", "stranger", policy.Write, true, 0},
		{"recorded, runs", "stranger", policy.Execute, true, 1},
		{"recorded, reads", "write_file", policy.Read, false, 0},
		{"recorded, talks", "stranger", policy.Converse, false, 0},
		{"older, runs", "run_terminal_command", policy.Unknown, true, 1},
		{"older, reads", "read_file", policy.Unknown, false, 0},
		{"older, nobody knows", "stranger", policy.Unknown, true, 0},
	} {
		s := folded(t, NewEvent(TypeAnswer, 1, Answer{Calls: []Call{{ID: "c1-1", Name: tt.tool}}}),
			NewEvent(TypeDecision, 1, Decision{Call: "c1-1", Kind: tt.kind, Verdict: policy.Allow}),
			NewEvent(TypeStarted, 1, Started{Call: "c1-1"}), NewEvent(TypeResult, 1, Result{Call: "c1-1", OK: true}),
			NewEvent(TypeCheckpoint, 1, Checkpoint{Commit: "c", Parked: true}))
		if (s.Unchecked == "c1-1") != tt.unchecked || s.Edits != tt.edits {
			t.Errorf("%s: unchecked %q and %d edits, want %t and %d", tt.name, s.Unchecked, s.Edits, tt.unchecked, tt.edits)
		}
	}
	line := `{"call":"c1-1","verdict":"allow"}`
	if d, err := Decode[Decision](Event{Data: []byte(line)}); err != nil || d.Verdict != policy.Allow || d.Kind != policy.Unknown {
		t.Errorf("%s reads as %+v, %v", line, d, err)
	}
}

// Files are counted over all checkpoints, and the branch is where the last
// one went.
func TestChanges(t *testing.T) {
	file := func(kind ChangeKind, added int) []FileChange {
		return []FileChange{{Path: "a", Kind: kind, Added: added}}
	}
	s := folded(t, NewEvent(TypeOpened, 0, Opened{Task: Task{Base: "base", Branch: "b"}}),
		NewEvent(TypeCheckpoint, 1, Checkpoint{Commit: "s1", Parent: "base", Files: file(ChangeCreate, 3), Parked: true}),
		NewEvent(TypeCheckpoint, 1, Checkpoint{Commit: "c1", Parent: "base", Files: file(ChangeCreate, 3)}),
		NewEvent(TypeCheckpoint, 2, Checkpoint{Commit: "s2", Parent: "c1", Files: file(ChangeModify, 2), Parked: true, Sent: &Sent{How: SentPatch, Branch: "b"}}))
	if s.Published != "c1" || s.Saved != "s2" || len(s.Unpushed) != 1 || s.Branch != "b" || s.Sent[0].Settled {
		t.Errorf("parked: %+v", s.Changes)
	}
	s.Take(Event{Seq: 5}, &Checkpoint{Commit: "c2", Parent: "c1", Files: file(ChangeDelete, 2), Branch: "b-2", Sent: &Sent{How: SentFallback, Branch: "b"}})
	want := []FileChange{{Path: "a", Kind: ChangeDelete, Added: 5}}
	if d := cmp.Diff(want, s.Files); d != "" || s.Lines != 5 || s.Branch != "b-2" || len(s.Checkpoints) != 2 || len(s.Unpushed) != 0 {
		t.Errorf("published: %+v\n%s", s.Changes, d)
	}
	if !s.Sent[0].Settled || s.Sent[1].To != "b-2" {
		t.Errorf("pushes: %+v %+v", s.Sent[0], s.Sent[1])
	}
}

// A yes to an edit is for what the edit computes, on what was there when it was
// shown, until it is published or the file is something else again.
func TestApprovedUntilPublished(t *testing.T) {
	yes := func(id string, effects ...policy.Effect) []*Event {
		return []*Event{NewEvent(TypeAsked, 1, Asked{ID: id, Call: "c" + id, Effects: effects}), NewEvent(TypeResolved, 1, Resolved{ID: id, Verdict: policy.Approved}),
			NewEvent(TypeStarted, 1, Started{Call: "c" + id}), NewEvent(TypeResult, 1, Result{Call: "c" + id, OK: true})}
	}
	saved := func(parked bool, files ...FileChange) []*Event {
		return []*Event{NewEvent(TypeCheckpoint, 1, Checkpoint{Commit: "s", Parent: "base", Parked: parked, Files: files})}
	}
	f := func(was, is string) FileChange { return FileChange{Path: "f", Was: was, Blob: is} }
	const a, b, c = "100644 a", "100644 b", "100644 c"
	for name, tt := range map[string]struct {
		events [][]*Event
		want   map[string]policy.Effect
	}{
		"as computed":         {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, b))}, map[string]policy.Effect{"f": {Path: "f", Was: "a", Is: "b"}}},
		"made":                {[][]*Event{yes("1", policy.Effect{Path: "f", Is: "b"}), saved(true, f("", b))}, map[string]policy.Effect{"f": {Path: "f", Is: "b"}}},
		"one after another":   {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, b)), yes("2", policy.Effect{Path: "f", Was: "b", Is: "c"}), saved(true, f(a, c))}, map[string]policy.Effect{"f": {Path: "f", Was: "a", Is: "c"}}},
		"swapped":             {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, c))}, nil},
		"on something else":   {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "c", Is: "b"}), saved(true, f(a, b))}, nil},
		"executable":          {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, "100755 b"))}, nil},
		"made executable":     {[][]*Event{yes("1", policy.Effect{Path: "f", Is: "b"}), saved(true, f("", "100755 b"))}, nil},
		"a link":              {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, "120000 b"))}, nil},
		"was executable":      {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f("100755 a", "100755 b"))}, map[string]policy.Effect{"f": {Path: "f", Was: "a", Is: "b"}}},
		"gone":                {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, ""))}, nil},
		"moved away":          {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, b)), saved(true, FileChange{Path: "g", From: "f", Was: a, Blob: b})}, nil},
		"published":           {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, b)), saved(false, f(a, b))}, nil},
		"comes back":          {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, b)), saved(false, f(a, b)), saved(false, f(b, a)), saved(true, f(a, b))}, nil},
		"back before it went": {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), saved(true, f(a, b)), saved(true), saved(true, f(a, b))}, nil},
		"nothing was saved":   {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"}), {NewEvent(TypeResult, 1, Result{Call: "c2", OK: true})}, saved(true, f(a, b))}, nil},
		"it failed":           {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"})[:3], {NewEvent(TypeResult, 1, Result{Call: "c1"})}, saved(true, f(a, b))}, nil},
		"nobody said yes":     {[][]*Event{{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"})[0]}, yes("1")[2:], saved(true, f(a, b))}, nil},
		"taken back at once":  {[][]*Event{yes("1", policy.Effect{Path: "f", Was: "a", Is: "b"})[:3], {NewEvent(TypeResolved, 1, Resolved{ID: "1", Verdict: policy.Denied})}, yes("1")[3:], saved(true, f(a, b))}, nil},
	} {
		s := folded(t, append([]*Event{NewEvent(TypeOpened, 0, Opened{Task: Task{Base: "base"}})}, slices.Concat(tt.events...)...)...)
		if len(s.Approved) == 0 {
			s.Approved = nil
		}
		if d := cmp.Diff(tt.want, s.Approved); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// A rename ends one file and makes another.
func TestEffectsOfARename(t *testing.T) {
	got := FileChange{Path: "g", From: "f", Was: "100644 a", Blob: "100755 b"}.Effects()
	if d := cmp.Diff([]policy.Effect{{Path: "f", Was: "100644 a"}, {Path: "g", Is: "100755 b"}}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What is asked is told from what stands above it, and where it was asked stays known.
func TestPlaceOfARequest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"fix it": "fix it", "It fails.\n\n[/agent] fix it\n\nThanks.": "fix it\n\nThanks.", "[/agent] fix it": "fix it", "say [/agent] twice": "say [/agent] twice",
	} {
		if got := Command(text); got != want {
			t.Errorf("%q asks %q, want %q", text, got, want)
		}
	}
	here := Place{At: time.Unix(5, 0).UTC(), Comment: 7, DiffThread: 6}
	s := NewState()
	for i, p := range []any{Opened{Task: Task{Place: here}}, Message{Budget: 5}} {
		e := NewEvent([]Type{TypeOpened, TypeMessage}[i], 0, p)
		if err := Rewrite(e, func(_, text string) string { return "x" + text }); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(*e); err != nil {
			t.Fatal(err)
		}
		if s.Place != here {
			t.Errorf("after event %d the place is %+v, want %+v", i, s.Place, here)
		}
	}
}

// A message after the end of a run begins a request of its own, also if the run is out of
// turns; words during a run, and to a run that waits, belong to the present request.
func TestBeginning(t *testing.T) {
	opened, words := NewEvent(TypeOpened, 0, Opened{Task: Task{Why: "a schedule"}}), Message{Text: "and more"}
	for status, begins := range map[Status]bool{
		StatusDone: true, StatusFailed: true, StatusOutOfBudget: true, StatusAwaitingAnswer: false, StatusInterrupted: false, "": false,
	} {
		events := []*Event{opened}
		if status != "" {
			events = append(events, NewEvent(TypeEnded, 1, Ended{Outcome: Outcome{Status: status}}))
		}
		s := folded(t, append(events, NewEvent(TypeMessage, 1, words))...)
		want := Beginning{Why: "a schedule"}
		if begins {
			want = Beginning{At: s.Seq, After: s.Seq - 1, Moments: len(s.Timeline) - 1}
		}
		if d := cmp.Diff(want, s.Began); d != "" {
			t.Errorf("%q (-want +got):\n%s", status, d)
		}
		if s := folded(t, append(events, NewEvent(TypeMessage, 1, Message{}))...); s.Began.At != 0 {
			t.Errorf("%q: a message without words begins a request", status)
		}
	}
}

// The turns of a session include those of an external agent's model.
func TestAllTurns(t *testing.T) {
	s := folded(t, NewEvent(TypeOpened, 0, Opened{}), NewEvent(TypeAnswer, 1, Answer{Inner: 4}), NewEvent(TypeAnswer, 2, Answer{}))
	if got := s.AllTurns(); got != 6 {
		t.Errorf("%d turns", got)
	}
}
