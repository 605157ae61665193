package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var writePictures = flag.Bool("pictures.write", false, "make docs/pictures anew; needs cmark-gfm and Chromium")

const shots = "../../docs/pictures"

// What differs from run to run, and what stands for it in a picture.
var varies = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`(?s)\n*<!--.*?-->\n*`), "\n"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "https://github.com"},
	{regexp.MustCompile(`issuecomment-\d+`), "issuecomment-1024"},
	{regexp.MustCompile(`[0-9a-f]{64}`), strings.Repeat("3b9f60c2", 8)},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), strings.Repeat("4e1f0c9a", 5)},
	{regexp.MustCompile("\\[`[0-9a-f]{7}`\\]"), "[`4e1f0c9`]"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), "2026-12-24 18:00 UTC"},
	{regexp.MustCompile(`Thought for [\d.]+ ?m?s`), "Thought for 8s"},
	{regexp.MustCompile(`\(\d[\d.]*m?s\)`), "(2s)"},
}

// TestPictures: the pictures of the handbook show what the bot says today. The text of
// each stands beside it; `make pictures` makes both anew.
func TestPictures(t *testing.T) {
	t.Parallel()
	s := newStoryOf(t, "{name: \"qwen3:8b\", tools: true, thinking: true, context: 32768}", map[string]string{"slug.sh": "echo Helo\n", "cache/old": "1\n"}, `
- think: "I look at the script first."
  calls: [{name: update_todo_list, arguments: {todos: "- [x] reproduce the failure\n- [ ] mend slug.sh\n- [ ] clear the cache"}}, {name: read_file, arguments: {path: slug.sh}}]
- calls: [{name: edit_file, arguments: {path: slug.sh, old_string: Helo, new_string: Hello}}]
- calls: [{name: run_terminal_command, arguments: {command: rm -rf cache}}]
- calls: [{name: update_todo_list, arguments: {todos: "- [x] reproduce the failure\n- [x] mend slug.sh\n- [x] clear the cache"}}]
- say: "slug.sh greets correctly now, and the old cache is gone. [TASK_COMPLETE]"
`)
	s.cfg.Model.Name = "qwen3:8b"
	s.restart(nil)
	s.say("you", "/agent fix the failing test")
	id := s.request()
	shown := map[string]string{"approval": s.until("Approval `"), "progress": s.until("**awaiting approval**", "Checkpoints:")}
	s.say("you", "/agent approve "+id)
	s.done()
	shown["done"] = s.until("**done**", "Pull request: #")
	for name, text := range shown {
		text = strings.ReplaceAll(text, id, "k7m2xq4p")
		for _, v := range varies {
			text = v.what.ReplaceAllString(text, v.as)
		}
		text = strings.TrimSpace(text) + "\n"
		file := filepath.Join(shots, name+".txt")
		if *writePictures {
			must(t, os.MkdirAll(shots, 0o755))
			must(t, os.WriteFile(file, []byte(text), 0o644))
			for theme, file := range pictureFiles(name) {
				takePicture(t, text, theme, heights[name], file)
				t.Logf("made %s", file)
			}
			continue
		}
		was, err := os.ReadFile(file)
		must(t, err)
		if diff := cmp.Diff(string(was), text); diff != "" {
			t.Errorf("the bot says something else than docs/pictures/%s.png shows; make pictures:\n%s", name, diff)
		}
		for _, file := range pictureFiles(name) {
			if picture, err := os.Stat(file); err != nil || picture.Size() == 0 {
				t.Errorf("there is no %s: %v", file, err)
			}
		}
	}
}

// pictureFiles returns the files of a picture by theme, which is a class of commentPage.
func pictureFiles(name string) map[string]string {
	return map[string]string{"light": filepath.Join(shots, name+".png"), "dark": filepath.Join(shots, name+"-dark.png")}
}

// takePicture has GitHub's own parser and a browser show a text as a comment. height is in pixels
// of the page.
func takePicture(t *testing.T, text, theme, height, file string) {
	t.Helper()
	gfm := exec.CommandContext(t.Context(), "cmark-gfm", "--unsafe", "-e", "autolink", "-e", "table", "-e", "strikethrough", "-e", "tasklist")
	gfm.Stdin = strings.NewReader(text)
	shown, err := gfm.Output()
	must(t, err)
	page := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(page, []byte(strings.Replace(commentPage, "THEME", theme, 1)+string(shown)+"</div></div>"), 0o600))
	shot, err := filepath.Abs(file)
	must(t, err)
	program := "chromium"
	if _, err := exec.LookPath(program); err != nil {
		program = "chromium-headless-shell"
	}
	browser := exec.CommandContext(t.Context(), program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--user-data-dir="+t.TempDir(), "--force-device-scale-factor=1.5", "--screenshot="+shot, "--window-size=760,"+height, "file://"+page)
	if out, err := browser.CombinedOutput(); err != nil {
		t.Fatalf("Chromium: %v\n%s", err, out)
	}
}

// heights are those of the pictures, in pixels of the page.
var heights = map[string]string{"approval": "430", "progress": "420", "done": "496"}

// commentPage is what stands around a comment, with colours of our own.
const commentPage = `<!doctype html><meta charset="utf-8"><html class="THEME"><style>
.light{--text:#1f2328;--quiet:#59636e;--page:#fff;--head:#f6f8fa;--line:#d1d9e0;--code:#eff1f3;--link:#0969da}
.dark{--text:#f0f6fc;--quiet:#9198a1;--page:#0d1117;--head:#151b23;--line:#3d444d;--code:#262c36;--link:#4493f8;color-scheme:dark}
body{margin:12px;font:14px/1.5 "DejaVu Sans",sans-serif;color:var(--text);background:var(--page)}
.comment{border:1px solid var(--line);border-radius:6px}
.by{background:var(--head);border-bottom:1px solid var(--line);padding:8px 14px;color:var(--quiet);border-radius:6px 6px 0 0}.by b{color:var(--text)}
.text{padding:4px 14px 12px}code{background:var(--code);border-radius:4px;padding:1px 5px;font:12px "DejaVu Sans Mono",monospace}
pre{background:var(--head);border-radius:6px;padding:12px}pre code{background:none;padding:0}a{color:var(--link);text-decoration:none}
h3{margin:12px 0;font-size:17px}ul{padding-left:24px}li:has(input){list-style:none;margin-left:-20px}table{border-collapse:collapse}td,th{border:1px solid var(--line);padding:4px 10px}
</style><div class="comment"><div class="by"><b>handrail</b> <small>bot</small></div><div class="text">`
