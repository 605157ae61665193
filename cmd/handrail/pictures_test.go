package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/policy/longtest"
)

var (
	writePictures = flag.Bool("pictures.write", false, "make docs/pictures anew; needs cmark-gfm, Chromium and -pictures.css")
	githubCSS     = flag.String("pictures.css", "", "directory of npm's github-markdown-css")
)

const shots = "../../docs/pictures"

// themes are those of GitHub in which each picture is made, with the colours of the frame of a comment.
var themes = map[string]struct{ page, frame, head, text string }{
	"light": {"#ffffff", "#d1d9e0", "#f6f8fa", "#1f2328"},
	"dark":  {"#0d1117", "#3d444d", "#151b23", "#f0f6fc"},
}

// What differs from run to run, and what stands for it in a picture.
var varies = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`(?s)\n*<!--.*?-->\n*`), "\n"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "https://github.com"},
	{regexp.MustCompile(`issuecomment-\d+`), "issuecomment-1024"},
	{regexp.MustCompile(`discussion_r\d+`), "discussion_r1031"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), "2026-12-24 18:00 UTC"},
	{regexp.MustCompile(`Thought for [\d.]+ ?m?s`), "Thought for 8s"},
	{regexp.MustCompile(`\(\d[\d.]*m?s\)`), "(2s)"},
}

var hexID = regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)

// steady replaces ids, times and the like, which differ from run to run; the first id of a text is always the same, and so is the second.
func steady(text string) string {
	for _, v := range varies {
		text = v.what.ReplaceAllString(text, v.as)
	}
	var known []string
	text = hexID.ReplaceAllStringFunc(text, func(id string) string {
		if !strings.ContainsAny(id, "0123456789") {
			return id
		}
		short := id[:7]
		n := 0
		for n < len(known) && known[n] != short {
			n++
		}
		if n == len(known) {
			known = append(known, short)
		}
		sum := sha256.Sum256([]byte{byte(n)})
		return hex.EncodeToString(sum[:])[:len(id)]
	})
	return strings.TrimSpace(text) + "\n"
}

// TestPictures: the pictures of the handbook show what the bot says today. The text of
// each stands beside it; `make pictures` makes both anew, in both themes.
func TestPictures(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	for name, text := range pictured(t) {
		text = steady(text)
		file := filepath.Join(shots, name+".txt")
		if *writePictures {
			must(t, os.WriteFile(file, []byte(text), 0o644))
			for theme := range themes {
				takePicture(t, text, theme, pictureFile(name, theme))
			}
			t.Logf("made %s", name)
			continue
		}
		was, err := os.ReadFile(file)
		must(t, err)
		if diff := cmp.Diff(string(was), text); diff != "" {
			t.Errorf("the bot says something else than docs/pictures/%s.png shows; make pictures:\n%s", name, diff)
		}
		for theme := range themes {
			if picture, err := os.Stat(pictureFile(name, theme)); err != nil || picture.Size() == 0 {
				t.Errorf("there is no %s picture of %s: %v", theme, name, err)
			}
		}
	}
}

// pictureFile returns the file of a picture in a theme.
func pictureFile(name, theme string) string {
	if theme == "light" {
		return filepath.Join(shots, name+".png")
	}
	return filepath.Join(shots, name+"-"+theme+".png")
}

// pictured returns the comments that are shown.
func pictured(t *testing.T) map[string]string {
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
		shown[name] = strings.ReplaceAll(text, id, "k7m2xq4p")
	}
	shown["review"] = reviewed(t)
	return shown
}

// reviewed returns the comment that lists the findings of a review, one of which a push mended.
func reviewed(t *testing.T) string {
	s := newStoryOf(t, "{name: \"qwen3:8b\", tools: true, context: 32768}", map[string]string{"greet.sh": "echo Hello\n"}, `
- calls:
  - {name: report_finding, arguments: {path: greet.sh, line: 2, severity: high, claim: "A name with a space becomes two words.", why: "The shell splits $1 before echo sees it.", suggestion: "echo \"$1\""}}
  - {name: report_finding, arguments: {path: greet.sh, line: 4, severity: medium, claim: "Callers are told that each greeting failed.", why: "The last line is reached also after one that worked."}}
- say: "STANDS. The shell splits the words."
- say: "STANDS. It is the last line."
- say: "Two faults. [TASK_COMPLETE]"
- say: "Nothing new. [TASK_COMPLETE]"
`)
	s.cfg.Model.Name = "qwen3:8b"
	s.restart(nil)
	push := func(file string) {
		_, err := s.gh.Push(storyRepo, "greet-by-name", "you", map[string]string{"greet.sh": file})
		must(t, err)
	}
	push("echo Hello\necho $1\necho Bye\nexit 1\n")
	var err error
	s.issue, err = s.gh.OpenPull(storyRepo, "you", ghcheck.NewPull{Title: "Greet by name", Head: "greet-by-name", Base: "main"})
	must(t, err)
	s.say("you", "/agent review")
	s.until("Review of this pull request", "2 open")
	push("echo Hello\necho \"$1\"\necho Bye\nexit 1\n")
	s.say("you", "/agent review")
	return s.until("Review of this pull request", "fixed in")
}

// takePicture has GitHub's own parser, GitHub's style and a browser show a text as a comment.
func takePicture(t *testing.T, text, theme, file string) {
	t.Helper()
	gfm := exec.CommandContext(t.Context(), "cmark-gfm", "--unsafe", "-e", "autolink", "-e", "table", "-e", "strikethrough", "-e", "tasklist")
	gfm.Stdin = strings.NewReader(text)
	shown, err := gfm.Output()
	must(t, err)
	css, err := os.ReadFile(filepath.Join(*githubCSS, "github-markdown-"+theme+".css"))
	must(t, err)
	c := themes[theme]
	frame := strings.NewReplacer("PAGE", c.page, "FRAME", c.frame, "HEAD", c.head, "INK", c.text).Replace(commentPage)
	page := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(page, []byte("<!doctype html><meta charset=\"utf-8\"><style>"+string(css)+"</style>"+frame+asOnGitHub(string(shown))+"</div></div>"), 0o600))
	shot := filepath.Join(t.TempDir(), "shot.png")
	program := "chromium"
	if _, err := exec.LookPath(program); err != nil {
		program = "chromium-headless-shell"
	}
	browser := exec.CommandContext(t.Context(), program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--user-data-dir="+t.TempDir(), "--force-device-scale-factor=1.5", "--screenshot="+shot, "--window-size=760,1200", "file://"+page)
	if out, err := browser.CombinedOutput(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, out)
	}
	data, err := os.ReadFile(shot)
	must(t, err)
	picture, err := png.Decode(bytes.NewReader(data))
	must(t, err)
	var out bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, cropped(t, picture)))
	must(t, os.WriteFile(file, out.Bytes(), 0o644))
}

// asOnGitHub adds what GitHub adds to the HTML of its parser: short links of comments and numbers, accounts, and
// the classes of lists of tasks.
func asOnGitHub(html string) string {
	html = regexp.MustCompile(`>https://github\.com/team/app/(?:issues|pull)/(\d+)#[a-z]+[-_]r?\d+</a>`).ReplaceAllString(html, `>#$1 (comment)</a>`)
	html = regexp.MustCompile(`<p>@(\w+)`).ReplaceAllString(html, `<p><b>@$1</b>`)
	html = regexp.MustCompile(`([\s(])#(\d+)\b`).ReplaceAllString(html, `$1<a href="#">#$2</a>`)
	html = strings.ReplaceAll(html, `<li><input type="checkbox"`, `<li class="task-list-item"><input class="task-list-item-checkbox" type="checkbox"`)
	return strings.ReplaceAll(html, "<ul>\n<li class=\"task-list-item\">", "<ul class=\"contains-task-list\">\n<li class=\"task-list-item\">")
}

// cropped takes away the empty rows below a page. Its last column must be empty, so that nothing is cut off.
func cropped(t *testing.T, picture image.Image) image.Image {
	at := picture.Bounds()
	empty := picture.At(at.Min.X, at.Min.Y)
	same := func(x, y int) bool {
		return color.RGBAModel.Convert(picture.At(x, y)) == color.RGBAModel.Convert(empty)
	}
	end := at.Min.Y
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			if !same(x, y) {
				end = y + 1
			}
		}
		if !same(at.Max.X-1, y) {
			t.Errorf("the page is wider than the picture")
			break
		}
	}
	const margin = 18 // as above
	if end+margin > at.Max.Y {
		t.Errorf("the page is longer than the picture")
	}
	out := image.NewRGBA(image.Rect(0, 0, at.Dx(), min(end+margin, at.Max.Y)-at.Min.Y))
	draw.Draw(out, out.Bounds(), picture, at.Min, draw.Src)
	return out
}

// commentPage is what stands around a comment.
const commentPage = `<style>
body{margin:12px;background:PAGE;font-family:-apple-system,"Noto Sans",Helvetica,Arial,sans-serif}
.comment{border:1px solid FRAME;border-radius:6px;overflow:hidden}
.by{background:HEAD;border-bottom:1px solid FRAME;padding:8px 16px;color:INK;font-size:14px}
.by b{font-weight:600}.by i{font-style:normal;font-size:12px;border:1px solid FRAME;border-radius:2em;padding:0 6px;margin-left:4px}
.markdown-body{padding:16px;font-size:14px}
</style><div class="comment"><div class="by"><b>handrail</b><i>bot</i></div><div class="markdown-body">`
