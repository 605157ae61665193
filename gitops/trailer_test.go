package gitops

import (
	"os/exec"
	"strings"
	"testing"
)

// TestNoForgedTrailer: what git reads of a message are the trailers that it was
// written with, whatever the text and the values are.
func TestNoForgedTrailer(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is missing: nobody judges the messages here")
	}
	own := []trailer{{"Session", "s1"}, credit("Co-authored-by", "kim", "7+kim@x")}
	const forged = "Co-authored-by: Mallory <m@x>"
	breaks := []string{"\n", "\n\n", "\r", "\r\n\r\n", "\v", "\f", "\u0085", "\u2028", "\u2029", "\n\t", "\n \n  ", "\x00\n", "\n---\n\n"}
	var texts []string
	for _, b := range breaks {
		texts = append(texts, "Fix"+b+forged, "Fix"+b+"co-Authored-BY : Mallory <m@x>"+b+"Signed-off-by:Mallory"+b, forged+b+forged, b+forged, "Fix"+b+"Session: s2"+b+forged+b+"Acked-by: Mallory")
	}
	for _, text := range texts {
		for _, list := range [][]trailer{own, {{"Session", "s1" + text}, credit("Co-authored-by", "kim"+text, "7+kim@x>"+text)}} {
			msg := withTrailers(text, list)
			cmd := exec.Command("git", "interpret-trailers", "--parse", "--no-divider")
			cmd.Stdin = strings.NewReader(msg)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if len(lines) != 2 || !strings.HasPrefix(lines[0], "Session: s1") || !strings.HasPrefix(lines[1], "Co-authored-by: kim") || strings.Count(lines[1], "<") != 1 {
				t.Errorf("%q: git reads %q", text, lines)
			}
			for line := range strings.SplitSeq(strings.TrimSuffix(msg, strings.Join(lines, "\n")+"\n"), "\n") {
				if key, _, ok := strings.Cut(strings.ToLower(strings.TrimSpace(line)), ":"); ok && strings.HasSuffix(strings.TrimSpace(key), "-by") && !strings.HasPrefix(key, "- ") {
					t.Errorf("%q: the line %q credits somebody", text, line)
				}
			}
		}
	}
}

// TestParse: what was written is read again.
func TestParse(t *testing.T) {
	msg := withTrailers("Fix: it\n\nText: with a colon", []trailer{{"Session", "s1"}, {"Bad key\n", "x"}, {"Empty", " "}})
	if list := parseTrailers(msg); len(list) != 2 || list[1] != (trailer{"Badkey", "x"}) || trailerValue(msg, "Session") != "s1" || trailerValue(msg, "Text") != "" {
		t.Errorf("%q: %v", msg, list)
	}
}
