package project

// The container image for a repository is that of its development container, or a standard one for the
// language of its manifests.

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
)

// Limits of reading.
const (
	maxFiles       = 5000
	maxVersionFile = 256 << 10 // bytes per file
)

// FindImage returns the image for a repository, without a name if nothing determines it.
// files must be the base branch: its content chooses among the images that allows
// permits. Notes list the rejected choices.
func FindImage(ctx context.Context, files Files, allows func(image string) bool) (session.Image, error) {
	l, err := files.List(ctx, ".", false, maxFiles)
	if err != nil {
		return session.Image{}, fmt.Errorf("find image: %w", err)
	}
	t := fileTree{names: make([]string, 0, len(l.Entries)), read: func(name string) string {
		data, _, err := files.ReadAll(ctx, name, maxVersionFile)
		if err != nil { // missing or unreadable
			return ""
		}
		return strings.ToValidUTF8(string(data), "")
	}}
	for _, e := range l.Entries {
		t.names = append(t.names, e.Path)
	}
	out := session.Image{Guess: true}
	take := func(name, why string) bool {
		if !allows(name) {
			out.Notes = append(
				out.Notes,
				fmt.Sprintf("%s, but the server does not let repositories choose the image %q (workspace.images)", why, name),
			)
			return false
		}
		out.Name, out.Why = name, why
		return true
	}
	found := t.languages()
	dev, err := readConfig(ctx, files)
	if err != nil {
		out.Notes = append(out.Notes, err.Error())
	}
	if dev != nil {
		if dev.isBase() || dev.Image == "" {
			found = append(found, dev.hinted()...)
		}
		yields := dev.isBase() && len(found) > 0
		if yields {
			found[0].why += fmt.Sprintf("; %s names %s, which has no language", dev.Path, dev.Image)
			dev.Features = nil // the other image has them
		}
		out.Notes = append(out.Notes, unsupported(*dev)...)
		if !yields && dev.Image != "" && take(dev.Image, dev.Path+" names it") {
			return out, nil
		}
	}
	for i, f := range found {
		if take(f.image, f.why) {
			if more := found[i+1:]; len(more) > 0 && more[0].manifest != "" {
				out.Notes = append(
					out.Notes,
					fmt.Sprintf(
						"there is also %s: for more than one language, name an image that has them, as workspace: {image: …}",
						more[0].manifest,
					),
				)
			}
			return out, nil
		}
	}
	out.Guess = false
	return out, nil
}

// unsupported returns notes on the unsupported parts of a development container.
func unsupported(dev containerConfig) (notes []string) {
	switch {
	case dev.Compose:
		notes = append(
			notes,
			fmt.Sprintf(
				"%s names containers of Docker Compose, which are not started: name one image as workspace: {image: …}",
				dev.Path,
			),
		)
	case dev.Recipe.File != "" && dev.Image == "":
		notes = append(
			notes,
			fmt.Sprintf(
				"%s names a Dockerfile, whose image is not built here. Build it on the machine of the server's docker, in a clone of the repository: \"docker build -t acme/dev:1 %s\". Then name it in .github/agent.yml: workspace: {image: acme/dev:1}",
				dev.Path,
				dev.Recipe.Line,
			),
		)
	}
	if len(dev.Features) > 0 {
		names := dev.Features[:min(3, len(dev.Features))]
		notes = append(
			notes,
			fmt.Sprintf(
				"%s wants features (%s), which are left out: take an image that has them",
				dev.Path,
				strings.Join(names, ", "),
			),
		)
	}
	return notes
}

// fileTree is the root of a repository.
type fileTree struct {
	names []string
	read  func(name string) string
}
