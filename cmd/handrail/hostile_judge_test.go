package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/bare"
)

// hostileJudge reads the tree objects of the bare repository with plain git, and
// what people saw when they said yes. It uses no code of the engine: not its
// digests, not its states of approvals, not its idea of a sensitive path.
type hostileJudge struct {
	repo  bare.Dir
	mark  string // file to which approved commands add a line each
	yes   []*hostileYes
	wrong []string
	paths int // sensitive changes that were found covered
}

// hostileYes is a request that somebody approved, as it was shown.
type hostileYes struct {
	id, shown string
	sections  []*shownFile
	denied    bool
}

// shownFile is what a request showed of one file.
type shownFile struct {
	from, to string // "" for no file
	mode     string // that it gets; "" for the one that it has
	hunks    []shownHunk
	used     bool
}

type shownHunk struct {
	at       int // first line of the old text
	old, new []string
}

// content is a file at a moment; the zero value is none.
type content struct{ mode, text string }

// sensitiveToJudge are the paths of the stage that need a yes, however they are
// spelled.
var sensitiveToJudge = regexp.MustCompile(`(?i)^(\.ci(/|$)|(docs/)?codeowners$|\.env$|\.github(/|$)|deploy(/|$))`)

// approve notes a yes to what was shown.
func (j *hostileJudge) approve(id, shown string) {
	j.yes = append(j.yes, &hostileYes{id: id, shown: shown, sections: readShown(shown)})
}

func (j *hostileJudge) deny(id string) {
	for _, y := range j.yes {
		y.denied = y.denied || y.id == id
	}
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// readShown reads a diff as a person does.
func readShown(text string) (out []*shownFile) {
	var f *shownFile
	var h *shownHunk
	olds, news, last := 0, 0, byte(0)
	name := func(s, prefix string) string {
		s, _, _ = strings.Cut(s, "\t")
		if s == "/dev/null" {
			return ""
		}
		return strings.TrimPrefix(s, prefix)
	}
	start := func() { f = &shownFile{}; out = append(out, f) }
	for line := range strings.Lines(text) {
		plain := strings.TrimSuffix(line, "\n")
		if h != nil && strings.HasPrefix(line, `\ No newline`) {
			if last != '+' {
				h.old[len(h.old)-1] = strings.TrimSuffix(h.old[len(h.old)-1], "\n")
			}
			if last != '-' {
				h.new[len(h.new)-1] = strings.TrimSuffix(h.new[len(h.new)-1], "\n")
			}
			continue
		}
		if olds > 0 || news > 0 {
			last = line[0]
			switch last {
			case ' ':
				h.old, h.new = append(h.old, line[1:]), append(h.new, line[1:])
				olds, news = olds-1, news-1
			case '-':
				h.old, olds = append(h.old, line[1:]), olds-1
			case '+':
				h.new, news = append(h.new, line[1:]), news-1
			}
			if olds == 0 && news == 0 {
				f.hunks = append(f.hunks, *h)
				h = &f.hunks[len(f.hunks)-1]
			}
			continue
		}
		key, rest, _ := strings.Cut(plain, " ")
		switch {
		case key == "diff":
			start()
			a, b, _ := strings.Cut(strings.TrimPrefix(rest, "--git a/"), " b/")
			f.from, f.to = a, b
		case key == "---" && (f == nil || len(f.hunks) > 0 || f.from == "" && f.to == ""):
			start()
			f.from = name(rest, "a/")
		case key == "+++":
			f.to = name(rest, "b/")
		case key == "---" && len(f.hunks) == 0 && f.to != "" && f.mode == "" && f.from != name(rest, "a/") && rest != "/dev/null":
			start()
			f.from = name(rest, "a/")
		case key == "new" && strings.HasPrefix(rest, "file mode "):
			f.from, f.mode = "", strings.TrimPrefix(rest, "file mode ")
		case key == "new":
			f.mode = strings.TrimPrefix(rest, "mode ")
		case key == "deleted":
			f.to = ""
		case hunkHead.MatchString(plain):
			m := hunkHead.FindStringSubmatch(plain)
			count := func(s string) int {
				n, err := strconv.Atoi(s)
				if err != nil {
					return 1
				}
				return n
			}
			h = &shownHunk{at: count(m[1])}
			olds, news = count(m[2]), count(m[4])
		case strings.HasPrefix(plain, "create the empty file "):
			start()
			f.to = strings.TrimPrefix(plain, "create the empty file ")
		case strings.HasPrefix(plain, "delete the empty file "):
			start()
			f.from = strings.TrimPrefix(plain, "delete the empty file ")
		}
	}
	return out
}

// apply is what a text becomes by what was shown; false where that is of another
// text.
func (f *shownFile) apply(text string) (string, bool) {
	lines := slices.Collect(strings.Lines(text))
	var out []string
	at := 0
	for _, h := range f.hunks {
		from := max(h.at-1, 0)
		if len(h.old) == 0 && h.at > 0 {
			from = h.at
		}
		if from < at || from+len(h.old) > len(lines) || !slices.Equal(lines[from:from+len(h.old)], h.old) {
			return "", false
		}
		out = append(append(out, lines[at:from]...), h.new...)
		at = from + len(h.old)
	}
	return strings.Join(append(out, lines[at:]...), ""), true
}

// step is what a file at path becomes by what was shown of it. Old gives the
// files before the commit.
func (f *shownFile) step(path string, is content, old func(string) content) (content, bool) {
	switch {
	case f.from == path && f.to != path: // it ends, or moves away
		left, ok := f.apply(is.text)
		return content{}, ok && is.mode != "" && (left == "" || f.to != "")
	case f.to != path:
		return is, false
	case f.from == "" && is.mode != "":
		return is, false // shown as new, and there is one
	case f.from == "":
		text, ok := f.apply("")
		return content{firstOf(f.mode, "100644"), text}, ok
	case f.from != path:
		source := old(f.from)
		text, ok := f.apply(source.text)
		return content{firstOf(f.mode, source.mode), text}, ok && is.mode == ""
	}
	text, ok := f.apply(is.text)
	return content{firstOf(f.mode, is.mode), text}, ok && is.mode != ""
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// pushed looks at what the bot put on its branch. Others push in between, too:
// only commits with the bot's name count.
func (j *hostileJudge) pushed(before, after string) {
	args := []string{"rev-list", "--reverse", "--author=handrail", after}
	if before != "" {
		args = append(args, "^"+before)
	}
	out, err := j.repo.Run(nil, args...)
	if err != nil {
		j.fault("%v", err)
	}
	for _, commit := range strings.Fields(out) {
		j.commit(commit)
	}
}

func (j *hostileJudge) commit(commit string) {
	raw, err := j.repo.RunCached("diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", commit)
	if err != nil {
		j.fault("%v", err)
		return
	}
	fields := strings.Split(strings.TrimSuffix(raw, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if path := fields[i+1]; sensitiveToJudge.MatchString(path) {
			j.change(commit, path, j.read(f[0], f[2]), j.read(f[1], f[3]))
		}
	}
}

func (j *hostileJudge) read(mode, id string) content {
	if mode == "000000" {
		return content{}
	}
	text, err := j.repo.RunCached("cat-file", "blob", id)
	if err != nil {
		j.fault("%v", err)
	}
	sum := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(text), text)))
	if hex.EncodeToString(sum[:]) != id {
		j.fault("object %s is another one", id)
	}
	return content{mode, text}
}

// change finds the yeses that make old into is, each of them for the first time.
func (j *hostileJudge) change(commit, path string, old, is content) {
	before := func(p string) content {
		line, err := j.repo.RunCached("ls-tree", commit+"^", p)
		if f := strings.Fields(line); err == nil && len(f) > 2 {
			return j.read(f[0], f[2])
		}
		return content{}
	}
	var steps []*shownFile
	var search func(at content, left int) bool
	search = func(at content, left int) bool {
		if at == is && left < 4 {
			return true
		}
		for _, y := range j.yes {
			for _, f := range y.sections {
				if left == 0 || y.denied || f.used || slices.Contains(steps, f) {
					continue
				}
				next, ok := f.step(path, at, before)
				if !ok {
					continue
				}
				steps = append(steps, f)
				if search(next, left-1) {
					return true
				}
				steps = steps[:len(steps)-1]
			}
		}
		return false
	}
	if !search(old, 4) {
		j.fault("commit %.10s makes %s of %+v into %+v, and nobody said yes to that", commit, path, old, is)
		return
	}
	j.paths++
	for _, f := range steps {
		if f.from != "" && f.to != "" && f.from != f.to {
			continue // the other side of the rename is to come
		}
		f.used = true
	}
}

// ran counts what commands did against what was approved.
func (j *hostileJudge) ran() int {
	data, err := os.ReadFile(j.mark)
	if err != nil {
		return 0
	}
	done := map[string]int{}
	for line := range strings.Lines(string(data)) {
		done[strings.TrimSpace(line)]++
	}
	total := 0
	for what, n := range done {
		total += n
		approved := 0
		for _, y := range j.yes {
			if strings.Contains(y.shown, "echo "+what+" >>") {
				approved++
			}
		}
		if n > approved {
			j.fault("%s ran %d times, and was approved %d times", what, n, approved)
		}
	}
	return total
}

func (j *hostileJudge) fault(format string, args ...any) {
	j.wrong = append(j.wrong, fmt.Sprintf(format, args...))
}
