package dashboard

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/command"
)

// past makes the log of a session: "a" is a checkpoint, "undo 2" and the like a request
// that is carried out, "keep" and "keep PATH" one that protects.
func (w *world) past(id string, deeds ...string) {
	events := []*session.Event{session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: id, Text: "Sort the list.", Requester: "kim", Branch: "agent/x"}})}
	parent := strings.Repeat("0", 40)
	for i, deed := range deeds {
		name, rest, _ := strings.Cut(deed, " ")
		wish := session.TakeBack{Do: session.TakeBackKind(name)}
		if _, err := fmt.Sscan(rest, &wish.N); err != nil && rest != "" {
			wish.Paths = []string{rest}
		}
		check := session.Checkpoint{Commit: fmt.Sprintf("%039d%x", 0, i+1), Parent: parent, Files: []session.FileChange{{Path: "src/" + name + ".go", Added: 1}, {Path: "Makefile", Removed: 1}}}
		if len(name) > 1 {
			events = append(events, session.NewEvent(session.TypeMessage, 1, session.Message{Author: "kim", TakeBack: &wish}))
			if check.TookBack = wish.Do; name == "keep" {
				continue
			}
		}
		events, parent = append(events, session.NewEvent(session.TypeCheckpoint, 1, check)), check.Commit
	}
	events = append(events, session.NewEvent(session.TypeEnded, 1, session.Ended{Outcome: session.Outcome{Status: session.StatusDone}}))
	w.add(w.row(id, "team/app#40", session.PhaseDone, time.Hour), events...)
}

// TestSteps: each checkpoint has the number with which a command undoes or redoes it: undone
// steps, undos and redos count for no undo, and kept steps stay.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ deeds, want string }{
		{"a b c", "undo3 undo2 undo1"},
		{"a,undo", "undone redo1"},
		{"a,b,c,undo 2", "undo1 undone undone redo2"},
		{"a,b,undo,c", "undo2 undone redo1 undo1"},
		{"a,b,undo,undo", "undone undone redo2 redo1"},
		{"a,b,undo,redo", "undo2 undo1 - -"},
		{"a,b,undo,redo,c", "undo3 undo2 - - undo1"},
		{"a,b,undo src/a.go,c", "undo3 undo2 redo1 undo1"},
		{"a,b,keep src/a.go,undo", "undo2 undo1 redo1"},
		{"a,keep,b,c", "- undo2 undo1"},
	} {
		w := newWorld()
		w.past("s", strings.FieldsFunc(tt.deeds, func(r rune) bool { return r == ',' || r == ' ' && !strings.Contains(tt.deeds, ",") })...)
		s, _ := start(t, w.config())
		state, done, err := s.summary(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, st := range state.steps() {
			is := "-"
			switch {
			case st.undone:
				is = "undone"
			case st.undo > 0:
				is = fmt.Sprint("undo", st.undo)
			case st.redo > 0:
				is = fmt.Sprint("redo", st.redo)
			}
			got = append(got, is)
		}
		done()
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, want %s", tt.deeds, strings.Join(got, " "), tt.want)
		}
	}
}

// TestStepCommands: the buttons of steps and files send commands that a comment can have,
// for these steps and files.
func TestStepCommands(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.past("s", "a", "b", "undo", "c")
	cfg := w.config()
	cfg.Code, cfg.Command = "code", w.order
	_, web := start(t, cfg)
	c, _ := open(t, web.URL, "code")
	_, body := get(t, c, web.URL+"/s/s")
	takes := func(name string) command.Spec { return command.Spec{Name: name, Args: command.TakesCheckpoints} }
	table := command.Table{{Name: command.Task, Args: command.TakesText}, takes("undo"), takes("redo"), takes("keep")}
	var got []string
	text := regexp.MustCompile(`name="text" value="([^"]*)"`)
	button := regexp.MustCompile(`name="do" value="((?:undo|redo|keep)[^"]*)"`)
	for _, form := range strings.Split(body, "<form ")[1:] {
		form, _, _ = strings.Cut(form, "</form>")
		words := ""
		if m := text.FindStringSubmatch(form); m != nil {
			words = " " + html.UnescapeString(m[1])
		}
		for _, m := range button.FindAllStringSubmatch(form, -1) {
			list, err := table.Parse("/agent " + html.UnescapeString(m[1]) + words)
			if err != nil || len(list) != 1 {
				t.Fatalf("%s%s: %v, %v", m[1], words, list, err)
			}
			got = append(got, fmt.Sprint(list[0].Name, " ", list[0].Count, " ", list[0].Paths))
		}
	}
	var want []string
	for _, path := range []string{"src/a.go", "src/b.go", "src/undo.go", "src/c.go", "Makefile"} { // all changes
		want = append(want, "undo 0 ["+path+"]", "keep 0 ["+path+"]")
	}
	want = append(want,
		"undo 1 []", "keep 0 [src/c.go Makefile]", "redo 1 []", "redo 1 [src/undo.go]", "redo 1 [Makefile]",
		"undo 2 []", "keep 0 [src/a.go Makefile]", "keep 0 []",
	)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestWords: paths that cannot be an argument of a command have no buttons.
func TestWords(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a.go": "a.go", "src/a": "src/a", "Makefile": "`Makefile`", "12": "", "-x.go": "", "a b.go": "", "": "", "a`b": "", "é.go": "", "/agent\nstop": "",
	} {
		if got := word(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
