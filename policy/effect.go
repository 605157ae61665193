package policy

import (
	"crypto/sha1" // the ids of git
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// Effect is what an action makes of one file. Was and Is name contents as git
// does: by mode and object id, such as "100644 e69de…", or, where the mode stays
// as it is, by the id alone. "" is for no file.
type Effect struct {
	Path string `json:"path"`
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
}

const (
	newFileMode = "100644" // of a file that an edit makes
	symlinkMode = "120000"
)

// Covers reports whether a yes to e is a yes to what happened: the same
// file, made of the same content into the same content. What happened has the modes.
func (e Effect) Covers(happened Effect) bool {
	if e.Path != happened.Path || e.Was != happened.Was && e.Was != objectID(happened.Was) {
		return false
	}
	mode, _, _ := strings.Cut(happened.Was, " ")
	if happened.Was == "" {
		mode = newFileMode
	}
	return e.Is == happened.Is || e.Is != "" && mode+" "+e.Is == happened.Is //control:computed-blob
}

// objectID leaves the mode out of a content's name.
func objectID(content string) string {
	_, id, ok := strings.Cut(content, " ")
	if !ok {
		return content
	}
	return id
}

// BlobID returns the id that git gives a file's content.
func BlobID(content string) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	_, _ = io.WriteString(h, content) // a hash takes all of it
	return hex.EncodeToString(h.Sum(nil))
}
