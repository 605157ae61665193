package work

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/local"
)

// An external agent gets a workspace only behind a wall.
func TestGuestsBehindAWall(t *testing.T) {
	here, err := local.New(local.Config{})
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	guests := &Guests{Door: func(_ string, next workspace.Egress) workspace.Egress {
		opened++
		return next
	}}
	if err := New(Config{Workspace: here, Guests: guests}).setDoor(&workspace.Spec{}, "m"); err == nil || opened > 0 {
		t.Error("a workspace without a wall was opened:", err)
	}
	if err := New(Config{Workspace: here}).setDoor(&workspace.Spec{}, "m"); err != nil {
		t.Error(err)
	}
}
