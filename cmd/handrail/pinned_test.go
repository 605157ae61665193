package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPinned: what others can change under a name is named by what it is: actions by
// commit, tools by version, images by digest. What is not pinned stands here and in
// docs/safety.md: the digest of an image differs from platform to platform and is
// only known where it can be pulled.
func TestPinned(t *testing.T) {
	t.Parallel()
	pins := map[string]*regexp.Regexp{
		"action": regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`),
		"image":  regexp.MustCompile(`^\S+@sha256:[0-9a-f]{64}$`),
		"tool":   regexp.MustCompile(`^\S+@(v\d+\.\d+\.\d+|\$version)$`),
	}
	uses := regexp.MustCompile(`(?m)(?:^\s*-?\s*uses:\s*(?P<action>\S.*?)|^\s*(?:image:[ \t]+|FROM[ \t]+|ARG[ \t]+\w+_IMAGE=)(?P<image>[^\s#$]+)(?:[ \t].*)?|go install\s+"?(?P<tool>[^\s"]+)"?)\s*$`)
	files := []string{"Dockerfile", ".ci/*", ".github/workflows/*", "docs/deploy/*", "action.yml"}
	found, loose := map[string]int{}, []string{}
	for _, pattern := range files {
		paths, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
				for kind, pin := range pins {
					name := m[uses.SubexpIndex(kind)]
					if name == "" {
						continue
					}
					found[kind]++
					if !pin.MatchString(name) {
						loose = append(loose, kind+" "+name)
					}
				}
			}
		}
	}
	for kind := range pins {
		if found[kind] == 0 {
			t.Errorf("no %s was found: this test looks in the wrong place", kind)
		}
	}
	slices.Sort(loose)
	want := []string{"image debian:bookworm-slim", "image golang:1.26-bookworm", "image handrail:latest", "image postgres:17"}
	if diff := cmp.Diff(want, slices.Compact(loose)); diff != "" {
		t.Errorf("not pinned (-want +got):\n%s", diff)
	}
}
