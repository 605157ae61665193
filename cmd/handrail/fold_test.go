package main

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readers lists the functions that look into events, with their purpose. Only agent/session
// interprets a log; all others read its State.
var readers = map[string]string{
	"agent.apply":                  "what only the loop needs, beside the state",
	"agent.sanitize":               "what may be recorded",
	"bot/store/threadref.ReadText": "whose log a file holds",
	"bot/store/threadref.allowed":  "whether a call begins that a person was asked for",
	"cmd/terminal.Event":           "a line for each event, on the terminal",
	"bot/store/storetest.*":        "a suite of tests",
	"agent/work.answered":          "the answer to a question that a call asked",
	"agent/work.timedOut":          "commands that ran out of time, to allow more",
	"bot/dashboard.item":           "an event as a part of a page",
	"bot/dashboard.replaced":       "a call whose result follows is shown with it",
	"bot/dashboard.take":           "events as they come, for the viewers of a session",
	"bot/dashboard.payloadOf":      "one text or picture of the log, whole",
	"agent/work.Unseal":            "contents of files that are sealed, for people",
	"bot/retain.sign":              "where a run ended",
	"cmd/action.Event":             "what is asked, in the log of a job",
	"cmd/action.Report":            "whether a run ended while this job worked",
	"cmd/sessions.lastEnd":         "where a run ended, to look for its signature",
	"cmd/sessions.sealedNote":      "how many contents are sealed",
	"cmd/telemetry.TraceIDs":       "which runs there were, each with its trace",
	"cmd/telemetry.wakesOf":        "which run goes on, and the one before it",
	"cmd/telemetry.learn":          "the names of tools and models, to count their calls",
	"cmd/telemetry.stored":         "what is counted",
	"cmd/telemetry.take":           "when a step of a run began and ended",
}

// TestOneFold: nothing but agent/session makes a state out of events.
func TestOneFold(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, s := range sources(t) {
		if s.test || s.dir == "agent/session" {
			continue
		}
		for _, d := range s.tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !readsEvents(f) {
				continue
			}
			who := s.dir + "." + f.Name.Name
			if strings.HasSuffix(s.dir, "test") {
				who = s.dir + ".*"
			}
			got[who] = readers[who]
		}
	}
	if d := cmp.Diff(readers, got); d != "" {
		t.Errorf("functions that look into events (-want +got):\n%s\nread session.State instead; if that is impossible, add the function to readers with its purpose", d)
	}
}

// readsEvents reports whether a function decodes events or asks for their type.
// The type of an event that it makes does not count.
func readsEvents(f *ast.FuncDecl) bool {
	reads := false
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && strings.HasPrefix(ofSession(call.Fun), "NewEvent") {
			return false
		}
		name := ofSession(n)
		reads = reads || name == "Decode" || name == "Payload" || strings.HasPrefix(name, "Type")
		return true
	})
	return reads
}

// ofSession returns what of agent/session a node names, "" for nothing.
func ofSession(n ast.Node) string {
	if sel, ok := n.(*ast.SelectorExpr); ok {
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "session" {
			return sel.Sel.Name
		}
	}
	return ""
}
