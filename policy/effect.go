package policy

import (
	"crypto/sha1" // git's object ids
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// Effect is the change that an action makes to one file. Was and Is identify contents as
// git does: by mode and object id, such as "100644 e69de…", or by the id alone if the
// mode does not change. "" means that there is no file.
type Effect struct {
	Path string `json:"path"`
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
}

const (
	newFileMode = "100644" // mode of a file created by an edit
	symlinkMode = "120000"
)

// Covers reports whether an approval of e covers the effect that happened: the same file
// with the same old and new content. happened must include modes.
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

// objectID returns the object id of a content without its mode.
func objectID(content string) string {
	_, id, ok := strings.Cut(content, " ")
	if !ok {
		return content
	}
	return id
}

// BlobID returns git's object id of a file's content.
func BlobID(content string) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	_, _ = io.WriteString(h, content) // a hash never returns an error
	return hex.EncodeToString(h.Sum(nil))
}
