package ghapp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/ghcheck"
	"github.com/handrail-bot/handrail/policy/longtest"
)

func smallPNG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))))
	return b.Bytes()
}

// hugePNG says that it has a hundred thousand pixels a side, in a few bytes.
func hugePNG() []byte {
	head := make([]byte, 17)
	copy(head, "IHDR")
	binary.BigEndian.PutUint32(head[4:], 100_000)
	binary.BigEndian.PutUint32(head[8:], 100_000)
	head[12], head[13] = 8, 0
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(head))
}

func TestPictures(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	w := newWorld(t)
	shot := smallPNG(t)
	private, public := w.gh.Attach(shot, false), w.gh.Attach(shot, true)
	text, huge := w.gh.Attach([]byte("<svg></svg>"), true), w.gh.Attach(hugePNG(), true)
	large := w.gh.Attach(append(smallPNG(t), make([]byte, ghapp.MaxPicture)...), true)
	_, err := w.gh.Push(repo, "topic/shots", "kim", map[string]string{"docs/a b.png": string(shot)})
	must(t, err)
	cm, err := w.gh.Comment(w.issue, "rae", "See ![it]("+private+")")
	must(t, err)
	tag, err := w.gh.Comment(w.issue, "rae", `<img width="20" alt="it" src="`+private+`" />`)
	must(t, err)
	rv, err := w.gh.Review(w.pull, "max", ghcheck.NewReview{Event: "COMMENT", Body: "![](" + private + ")",
		Comments: []ghcheck.Inline{{Path: "src/a.go", Line: 3, Body: "![](" + private + ")"}}})
	must(t, err)
	inPost, err := w.gh.OpenIssue(repo, "rae", "With a picture", "![]("+private+")")
	must(t, err)
	diff, err := w.client.ListDiffComments(t.Context(), w.pull)
	must(t, err)
	comment := ghapp.Text{Thread: w.issue, Target: ghapp.Target{Comment: cm.ID}}
	away := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	defer away.Close()
	for _, tt := range []struct {
		name, url string
		at        ghapp.Text
		refused   string
	}{
		{"private, in a comment", private, comment, ""},
		{"private, in a tag", private, ghapp.Text{Thread: w.issue, Target: ghapp.Target{Comment: tag.ID}}, ""},
		{"private, in a review", private, ghapp.Text{Thread: w.pull, Review: rv.ID}, ""},
		{"private, in a comment on the diff", private, ghapp.Text{Thread: w.pull, Target: ghapp.Target{Comment: diff[0].ID, Diff: true}}, ""},
		{"private, in the first post", private, ghapp.Text{Thread: inPost}, ""},
		{"private, of a text that does not show it", private, ghapp.Text{Thread: w.issue}, "GitHub answered 404"},
		{"public, by a redirect", public, ghapp.Text{Thread: w.issue}, ""},
		{"file of the repository", w.gh.URL() + "/acme/widget/raw/topic/shots/docs/a%20b.png", comment, ""},
		{"its page", w.gh.URL() + "/acme/widget/blob/refs/heads/topic/shots/docs/a%20b.png?raw=true", comment, ""},
		{"file that is not there", w.gh.URL() + "/acme/widget/raw/main/nothing.png", comment, "no such file"},
		{"no picture", text, comment, "no picture that models take"},
		{"too many bytes", large, comment, "more than 5242880 bytes"},
		{"too many pixels", huge, comment, "too many pixels"},
		{"another host", away.URL + "/a.png", comment, "not on GitHub"},
		{"with a password", strings.Replace(public, "//", "//me:secret@", 1), comment, "not one of the web"},
		{"no host", "docs/a.png", comment, "not one of the web"},
		{"a file", "file:///etc/passwd", comment, "not one of the web"},
		{"not over TLS", "http://github.com/user-attachments/assets/1", comment, "not on GitHub"},
		{"name that only looks like it", "https://github.com.evil.test/a.png", comment, "not on GitHub"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := w.client.Picture(t.Context(), tt.at, tt.url)
			if tt.refused == "" {
				if err != nil || p.Type != "image/png" || !bytes.Equal(p.Data, shot) {
					t.Fatalf("%s, %d bytes, %v", p.Type, len(p.Data), err)
				}
				return
			}
			var r *ghapp.Refused
			if !errors.As(err, &r) || !strings.Contains(r.Reason, tt.refused) {
				t.Errorf("%v, want one that says %q", err, tt.refused)
			}
		})
	}
}
