package gitops

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// packedRef is one line of packed-refs; peeled is the commit of a tag object.
type packedRef struct{ name, id, peeled string }

// packRefs is repack for who does not hold [Mirror.lockRefs].
func (m *Mirror) packRefs(ctx context.Context, change func([]packedRef) []packedRef) error {
	unlock, err := m.lockRefs(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return m.repack(change)
}

// repack rewrites packed-refs as a whole, under git's own lock file, so that
// many refs change at once or not at all. [Mirror.lockRefs] is held.
func (m *Mirror) repack(change func([]packedRef) []packedRef) error {
	path := filepath.Join(m.dir, "packed-refs")
	f, err := m.gitLock(path)
	if err != nil {
		return err
	}
	mine := true // until it is renamed; one of the same name is somebody else's then
	defer func() {
		if mine {
			drop(path + ".lock")
		}
	}()
	defer f.Close()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	list := change(parsePacked(string(data)))
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	var buf bytes.Buffer
	buf.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for _, r := range list {
		fmt.Fprintf(&buf, "%s %s\n", r.id, r.name)
		if r.peeled != "" {
			fmt.Fprintf(&buf, "^%s\n", r.peeled)
		}
	}
	if _, err := f.Write(buf.Bytes()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	err = os.Rename(path+".lock", path)
	mine = err != nil
	return err
}

func parsePacked(text string) []packedRef {
	var list []packedRef
	for line := range strings.SplitSeq(text, "\n") {
		if peeled, ok := strings.CutPrefix(line, "^"); ok && len(list) > 0 {
			list[len(list)-1].peeled = peeled
			continue
		}
		id, name, ok := strings.Cut(line, " ")
		if ok && isID(id) {
			list = append(list, packedRef{name: name, id: id})
		}
	}
	return list
}

// drop removes a temporary file; when it is gone already, all is well.
func drop(path string) { _ = os.Remove(path) }
