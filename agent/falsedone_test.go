package agent

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// In a mode that may write, a claim is no work, whatever language the task is in. An end
// that claims a change, or that follows one that was taken back, is never believed.
func TestWordsAreNoWork(t *testing.T) {
	longtest.Leave(t)
	for _, task := range []string{
		"the parser loses the sign", "go test fails", "Das Programm stürzt ab, wenn die Datei leer ist", "Bitte den Rundungsfehler beheben",
		"off by one in pager.go", "TestSum is red", "#12", "разберись с падением", "空ファイルで落ちる", "corrige l'erreur d'arrondi", "users cannot log in!",
		"Why is the sign lost? and repair it",
	} {
		for _, how := range []string{
			"- say: \"I fixed the sign and all tests pass.\"\n  repeat: true\n",
			"- say: \"Fixed. [TASK_COMPLETE]\"\n  repeat: true\n",
			"- calls: [{name: attempt_completion, arguments: {result: Fixed it.}}]\n  repeat: true\n",
			"- calls: [{name: attempt_completion, arguments: {result: Fixed it., no_change_reason: n/a}}]\n  repeat: true\n",
			"- calls: [{name: switch_mode, arguments: {mode: ask}}]\n- say: \"It is fixed. [TASK_COMPLETE]\"\n  repeat: true\n",
			"- calls: [{name: write_file, arguments: {path: a.txt, content: \"2\\n\"}}]\n- calls: [{name: write_file, arguments: {path: a.txt, content: \"1\\n\"}}]\n- say: \"Fixed. [TASK_COMPLETE]\"\n  repeat: true\n",
		} {
			b := newBench(t, head+how, map[string]string{"a.txt": "1\n"})
			b.task.Text = task
			out := b.must(session.StatusNoChanges)
			if n := strings.Count(b.notes(session.NoteRefused), "no file was changed"); n != maxRefusals {
				t.Errorf("%q, %s: sent back %d times, want %d", task, how, n, maxRefusals)
			}
			if !strings.Contains(out.Reason, "no file was changed") {
				t.Errorf("%q: %+v", task, out)
			}
		}
	}
}

// A reason why nothing had to change is believed, and is no success either. Words that
// claim nothing are the answer, whatever was asked for, and at once.
func TestReasonForNoChange(t *testing.T) {
	end := "- calls: [{name: attempt_completion, arguments: {result: Nothing to do., no_change_reason: The sign is kept since the last release.}}]\n"
	for _, tt := range []struct {
		task, script string
		mode         string
		want         session.Status
		says         string
	}{
		{"the parser loses the sign", end, "code", session.StatusNoChanges, "kept since the last release"},
		{"Warum fehlt das Vorzeichen?", end, "code", session.StatusAnswered, "Nothing to do."},
		{"why is the sign lost", "- say: \"Because line 3 reads it with strconv.ParseUint, which takes none.\"\n", "code", session.StatusAnswered, "takes none."},
		{"список файлов", "- say: \"Один файл: a.txt. [TASK_COMPLETE]\"\n", "code", session.StatusAnswered, "Один файл"},
		{"thanks!", "- say: \"You are welcome.\"\n", "code", session.StatusAnswered, "welcome"},
		{"write down what a.txt holds", "- calls: [{name: attempt_completion, arguments: {result: It holds a one.}}]\n", "code", session.StatusAnswered, "a one"},
		{"the parser loses the sign", "- say: It reads it as unsigned.\n", "ask", session.StatusAnswered, "unsigned"},
	} {
		b := newBench(t, head+tt.script, map[string]string{"a.txt": "1\n"})
		b.task.Text, b.task.Mode = tt.task, tt.mode
		out := b.must(tt.want)
		if !strings.Contains(out.Reason+out.Summary, tt.says) || b.notes(session.NoteRefused) != "" {
			t.Errorf("%q in %s mode: %+v, sent back with %q", tt.task, tt.mode, out, b.notes(session.NoteRefused))
		}
	}
}

// A reason for no change is doubted once if an edit was refused before it: small models give the error as their reason.
func TestReasonAfterARefusedEdit(t *testing.T) {
	b := newBench(t, head+`
- calls: [{name: edit_file, arguments: {path: a.txt, old_string: "9", new_string: "2"}}]
- calls: [{name: attempt_completion, arguments: {result: Nothing., no_change_reason: The text is not there.}}]
  repeat: true
`, map[string]string{"a.txt": "1\n"})
	b.task.Text = "the sign is lost"
	out := b.must(session.StatusNoChanges)
	if sent := b.notes(session.NoteRefused); strings.Count(sent, "after a change of yours was refused (a.txt)") != 1 ||
		!strings.Contains(out.Reason, "The text is not there.") {
		t.Errorf("%+v, sent back with %q", out, sent)
	}
}

// After the denial of the only change its end is taken, and says so. Words that claim the change are doubted,
// but the denied one is not asked for again.
func TestDenialIsHeard(t *testing.T) {
	for said, doubted := range map[string]bool{"It stays as you want it.": false, "I fixed the history.": true} {
		b := newBench(t, head+"- calls: [{name: run_terminal_command, arguments: {command: git push --force}}]\n"+
			"- calls: [{name: attempt_completion, arguments: {result: "+said+"}}]\n  repeat: true\n", map[string]string{"a.txt": "1\n"})
		b.task.Text = "rewrite the history"
		b.must(session.StatusAwaitingApproval)
		asked := events[session.Asked](b, session.TypeAsked)[0]
		b.append(session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: asked.ID, Verdict: policy.Denied, By: "kim", Reason: "keep it"}))
		out := b.must(session.StatusNoChanges)
		sent := b.notes(session.NoteRefused)
		if (sent != "") != doubted || strings.Contains(sent, "Make the change") || doubted && !strings.Contains(sent, "Do not try it again") {
			t.Errorf("%q: sent back with %q", said, sent)
		}
		if !strings.Contains(out.Summary, said) || !strings.Contains(out.Reason, "this was refused: git push --force") {
			t.Errorf("%q: %+v", said, out)
		}
	}
}

// notes returns all words of one kind that the model was told.
func (b *bench) notes(kind session.NoteKind) string {
	var out strings.Builder
	for _, n := range events[session.Note](b, session.TypeNote) {
		if n.Kind == kind {
			out.WriteString(n.Text + "\n")
		}
	}
	return out.String()
}

// What people let a command delete may be on no branch: then nothing is to be seen of
// the work, and the model is not asked for a change. It is no success either. A command
// that deletes nothing, or failed, is no such work.
func TestCleaningIsWork(t *testing.T) {
	longtest.Leave(t)
	for command, want := range map[string]session.Status{
		"find . -name '*.pyc' -delete":         session.StatusAnswered,
		"rm -rf build":                         session.StatusAnswered,
		"find . -name '*.pyc' -delete; exit 3": session.StatusNoChanges,
		"git push --force":                     session.StatusNoChanges,
	} {
		b := newBench(t, head+"- calls: [{name: run_terminal_command, arguments: {command: \""+command+"\"}}]\n"+
			"- calls: [{name: attempt_completion, arguments: {result: The rubbish is gone.}}]\n  repeat: true\n  optional: true\n", map[string]string{"a.txt": "1\n"})
		b.must(session.StatusAwaitingApproval)
		asked := events[session.Asked](b, session.TypeAsked)[0]
		b.append(session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: asked.ID, Verdict: policy.Approved, By: "kim"}))
		out := b.must(want)
		if sent := b.notes(session.NoteRefused) != ""; sent != (want == session.StatusNoChanges) || !strings.Contains(out.Summary, "The rubbish is gone.") {
			t.Errorf("%q: sent back %t, %+v", command, sent, out)
		}
	}
}
