package session

import (
	"slices"
	"testing"
)

// From the moment the saved state has another base, that is the base; what counts as
// changed on the branch is what differs from it, of files that are the session's.
func TestBaseThatWasTakenIn(t *testing.T) {
	t.Parallel()
	s := NewState()
	apply := func(kind Type, payload any) {
		t.Helper()
		e := NewEvent(kind, 1, payload)
		e.Seq = s.Seq + 1
		if err := s.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
	want := func(base, now string, files ...FileChange) {
		t.Helper()
		if s.Base != base || s.BaseNow() != now || !slices.Equal(s.Files, files) {
			t.Errorf("base %s, now %s, files %+v", s.Base, s.BaseNow(), s.Files)
		}
	}
	file := func(path string, added int) FileChange {
		return FileChange{Path: path, Kind: ChangeModify, Added: added}
	}
	apply(TypeOpened, Opened{Task: Task{Session: "s1", Base: "b0", Branch: "agent/1"}})
	apply(TypeCheckpoint, Checkpoint{Commit: "c1", Parent: "b0", Files: []FileChange{file("a", 3), file("gone", 1)}})
	want("b0", "b0", file("a", 3), file("gone", 1))

	m := &Merge{Branch: "main", Commit: "b1", Conflicts: []string{"both"}, Open: []string{"both"}, Turn: 1}
	apply(TypeMessage, Message{Author: "kim", TakeBack: &TakeBack{Do: Rebase, Branch: "main"}})
	apply(TypeNote, Note{Kind: NoteConflicts, Text: "settle"})
	apply(TypeCheckpoint, Checkpoint{Commit: "m1", Parent: "c1", Parked: true, Merge: m, Files: []FileChange{file("both", 9)}})
	want("b0", "b1", file("a", 3), file("gone", 1))
	if s.TakeBack != nil || !s.TakingIn().Unsettled() || !s.TakingIn().Unseen(1) || s.TakingIn().Unseen(2) {
		t.Errorf("%+v, %+v", s.TakeBack, s.TakingIn())
	}
	settled := &Merge{Branch: "main", Commit: "b1", Conflicts: m.Conflicts, Turn: 1}
	apply(TypeCheckpoint, Checkpoint{Commit: "m2", Parent: "c1", Parked: true, Merge: settled, Files: []FileChange{file("both", 2)}})
	apply(TypeCheckpoint, Checkpoint{Commit: "m3", Parent: "c1", Merge: settled, Files: []FileChange{file("a", 4), file("both", 2), file("of somebody else", 7)}})
	want("b1", "b1", file("a", 4), file("both", 2))
	if s.TakingIn() != nil || s.Published != "m3" || len(s.Unpushed) > 0 {
		t.Errorf("taking in %+v, published %s, unpushed %+v", s.TakingIn(), s.Published, s.Unpushed)
	}
}
