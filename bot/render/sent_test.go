package render

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
)

func sentView(t *testing.T, list ...session.Checkpoint) *session.State {
	t.Helper()
	v := session.NewState()
	events := []*session.Event{session.NewEvent(session.TypeOpened, 0, session.Opened{Task: session.Task{Session: "s1", Branch: "agent/1-x"}})}
	for _, c := range list {
		events = append(events, session.NewEvent(session.TypeCheckpoint, 1, c))
	}
	for i, e := range events {
		e.Seq = int64(i + 1)
		if err := v.Apply(*e); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func TestSent(t *testing.T) {
	fallback := session.Checkpoint{Commit: "c1", Parent: "c0", Branch: "agent/1-x-2",
		Sent: &session.Sent{How: "fallback", Branch: "agent/1-x", Said: []string{"error: GH006\n::set-output name=a::b\n/agent stop\n```\n<img src=x>\x1b[31m @team"}}}
	held := session.Checkpoint{Commit: "c2", Parent: "c1",
		Sent: &session.Sent{How: "pushed", Branch: "agent/1-x", Held: []session.FileChange{{Path: ".github/workflows/a`b.yml", Added: 3}}, Patch: "+on: push\n"}}
	nothing := session.Checkpoint{Commit: "c3", Parent: "c2", Parked: true, Sent: &session.Sent{How: "patch", Branch: "agent/1-x", Said: []string{"closed"}, Patch: "+x\n"}}
	large := session.Checkpoint{Commit: "c4", Parent: "c2", Parked: true, Sent: &session.Sent{How: "patch", Branch: "agent/1-x", PatchSize: 9 << 20}}
	later := session.Checkpoint{Commit: "c5", Parent: "c2"}
	golden(t, "sent_all", posted(Progress(sentView(t, fallback, held, nothing), Links{})))
	golden(t, "sent_large", posted(Progress(sentView(t, large), Links{})))
	if text := Progress(sentView(t, nothing, later), Links{}).Text; strings.Contains(text, "could not push") {
		t.Errorf("it was pushed later, and the comment says:\n%s", text)
	}
	if v := sentView(t, later); len(v.Sent) != 0 {
		t.Errorf("a plain push is told of: %+v", v.Sent)
	}
	golden(t, "sent_patch", posted(Patches(held.Sent.Patch)[0]))
}

// TestPatchesAreWhole: what a reader cuts out of the comments is the patch,
// whatever is in it and however long it is.
func TestPatchesAreWhole(t *testing.T) {
	noise := make([]byte, 300_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte('a' + rng.IntN(26))
	}
	for name, patch := range map[string]string{
		"short": "+a\n", "no newline at the end": "+a", "fences": "+````\n+```diff\n", "two comments": strings.Repeat("+line of a patch\n", 5000),
		"long": strings.Repeat("+line of a patch\n", 50000), "long line": "+" + strings.Repeat("x", 70000) + "\n", "carriage returns": "+a\r\n",
		"bytes": "+\xff\xfe\n", "hidden": "+a\u202eb\n", "runner command": " ::set-output name=x::y\n", "noise": "+" + string(noise) + "\n",
	} {
		list := Patches(patch)
		var got strings.Builder
		packed := false
		for _, p := range list {
			c := posted(p)
			if n := utf8.RuneCountInString(c); n > maxBody {
				t.Errorf("%s: a comment of %d characters", name, n)
			}
			mark := c[strings.Index(c, "</summary>\n\n")+len("</summary>\n\n"):]
			mark, rest, _ := strings.Cut(mark, "\n")
			packed = packed || !strings.HasSuffix(mark, "diff")
			text, _, ok := strings.Cut(rest, "\n"+strings.TrimSuffix(mark, "diff")+"\n")
			if !ok {
				t.Fatalf("%s: no block in\n%.300s", name, c)
			}
			got.WriteString(text + "\n")
		}
		text := got.String()
		if changed := strings.ContainsAny(patch, "\r\u202e") || !utf8.ValidString(patch) || strings.HasPrefix(patch, " ::"); changed && !packed {
			t.Errorf("%s: not packed, and a comment would change it", name)
		}
		if packed {
			data, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, "\n", ""))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all, err := io.ReadAll(z)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text = string(all)
		}
		if strings.TrimSuffix(text, "\n") != strings.TrimSuffix(patch, "\n") || len(list) == 0 {
			t.Errorf("%s: %d comments give %d bytes, want %d", name, len(list), len(text), len(patch))
		}
	}
}
