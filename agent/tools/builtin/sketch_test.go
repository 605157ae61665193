package builtin_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// functions returns where functions of at least eight lines begin and end.
func functions(name string, file []string) (out [][2]int) {
	head := regexp.MustCompile(`^(func |    def |function |static |void |[a-z_]+\()`)
	depth := func(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }
	for i, l := range file {
		if !head.MatchString(l) {
			continue
		}
		end := i + 1
		for end < len(file) && (strings.TrimSpace(file[end]) == "" || depth(file[end]) > depth(l)) {
			end++
		}
		for filepath.Ext(name) == ".py" && strings.TrimSpace(file[end-1]) == "" {
			end--
		}
		if filepath.Ext(name) != ".py" {
			end++ // the closing bracket
		}
		if end-i >= 8 && end < len(file)-3 {
			out = append(out, [2]int{i, end})
		}
	}
	return out
}

// TestSketchesOfFunctions: a function between two markers replaces itself, and no more,
// whatever in it has changed.
func TestSketchesOfFunctions(t *testing.T) {
	longtest.Leave(t)
	b := toolstest.Open(t, map[string]string{"x": "x\n"})
	right, all := 0, 0
	for name, file := range realText(t) {
		before := strings.Join(file, "\n") + "\n"
		mark := truth{name: name}.mark("... existing code ...")
		for _, f := range functions(name, file) {
			in := file[f[0]][:len(file[f[0]])-len(strings.TrimLeft(file[f[0]], " \t"))]
			middle, last, shorter := slices.Clone(file[f[0]:f[1]]), slices.Clone(file[f[0]:f[1]]), slices.Clone(file[f[0]:f[1]])
			middle[4] += " + 1"
			last[len(last)-2] += " + 1"
			without := len(shorter) - 2 // a line that opens and closes nothing
			for without > 4 && strings.ContainsAny(shorter[without], "{}") {
				without--
			}
			shorter = slices.Delete(shorter, without, without+1)
			for i, fresh := range [][]string{middle, last, shorter, middle} {
				all++
				sent := each(fresh, same)
				if i == 3 {
					sent = each(fresh, func(_ int, s string) string { return strings.TrimPrefix(s, in) })
				}
				want := strings.Join(slices.Concat(file[:f[0]], fresh, file[f[1]:]), "\n") + "\n"
				if err := b.WS.Write(t.Context(), name, []byte(before)); err != nil {
					t.Fatal(err)
				}
				_, err := run(t, b, "edit_file", toolstest.Arguments("path", name, "code_edit", mark+"\n"+sent+"\n"+mark+"\n"))
				switch got, _, errRead := b.WS.ReadAll(t.Context(), name, 0); {
				case errRead != nil:
					t.Fatal(errRead)
				case string(got) == want:
					right++
				case err == nil || string(got) != before:
					t.Errorf("%s, line %d: wrong:\n%s", name, f[0]+1, sent)
				default:
					t.Logf("%s, line %d: refused: %v", name, f[0]+1, err)
				}
			}
		}
	}
	t.Logf("%d of %d right", right, all)
	if all < 100 || right*100 < all*98 {
		t.Errorf("only %d of %d are right", right, all)
	}
}

// TestMergedSketch: an answer about the places of a sketch passes the checks of every edit, and the
// file parses as before.
func TestMergedSketch(t *testing.T) {
	const before = "package a\n\nfunc first() {\n\tload()\n\tsave()\n}\n\nfunc second() {\n\tload()\n\tsave()\n}\n"
	const mark = "// ... existing code ...\n"
	const third = "func third() {\n}\n"
	b := toolstest.Open(t, map[string]string{"a.go": before})
	edit := b.Tool("edit_file")
	for name, tt := range map[string]struct{ sketch, answer, want string }{
		"behind a function":       {mark + third + mark, before + third, before + third},
		"no answer":               {mark + third + mark, "", ""},
		"inside a function":       {mark + third + mark, strings.Replace(before, "\tsave()\n", "\tsave()\n"+third, 1), ""},
		"the second of two lines": {mark + "\tsave()\n\tsay()\n" + mark, before[:len(before)-2] + "\tsay()\n}\n", before[:len(before)-2] + "\tsay()\n}\n"},
	} {
		if err := b.WS.Write(t.Context(), "a.go", []byte(before)); err != nil {
			t.Fatal(err)
		}
		call := session.Call{
			ID: "c1", Name: "edit_file", Arguments: []byte(toolstest.Arguments("path", "a.go", "code_edit", tt.sketch)),
			Merged: &session.Merged{Call: "c1", Text: tt.answer},
		}
		action, err := edit.Intent(t.Context(), call)
		if err == nil {
			_, err = edit.Run(t.Context(), call, nil)
		}
		want := tt.want
		if want == "" {
			want = before
		}
		got, _, errRead := b.WS.ReadAll(t.Context(), "a.go", 0)
		if errRead != nil || (err == nil) != (tt.want != "") || string(got) != want {
			t.Errorf("%s: %v, the file is\n%s", name, err, got)
		}
		if err == nil && !strings.Contains(action.Display, "+func third() {") && !strings.Contains(action.Display, "+\tsay()") {
			t.Errorf("%s: an approver sees %s", name, action.Display)
		}
	}
}
