package host

// A workspace has a repository of its own, so that `git log`, `git diff` and
// the like show the base and its history. Its objects are outside and read-only.
// Nothing reads the repository back.

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// patience is the time that a command with "git" waits for the history, which is
// written meanwhile. largest is the maximum number of files in a tree for which any
// command gets a repository, and not only one with "git".
const (
	patience = 20 * time.Second
	maxEager = 20_000
)

// gitMaker makes the repository once. It is not safe for concurrent use.
type gitMaker struct {
	Root *os.Root // tree of the workspace
	Past string   // see [workspace.Spec.Git]; "" if none
	done bool
}

// repositoryStamp is the file metadata in git's index. Git skips files that match all of it; with
// less, it would miss an edit within a second that keeps the size.
type repositoryStamp struct {
	Size, Mtime int64 // Mtime in nanoseconds
	Inode       uint64
	UID, GID    uint32
}

// ignoredFiles returns the patterns of [workspace.GitIgnored] in past; "" if there are none.
func ignoredFiles(past string) string {
	if past == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(past, workspace.GitIgnored))
	if err != nil {
		return ""
	}
	return string(text)
}

// caseless reports whether past has the mark [workspace.GitCaseless].
func caseless(past string) bool {
	if past == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(past, workspace.GitCaseless))
	return err == nil
}

// Before makes the repository before a command if it is due. stamps returns a function
// that returns the stamp of a file, or false if the file differs from the base. On
// error there is no repository.
func (m *gitMaker) Before(
	ctx context.Context,
	line string,
	stamps func() (func(name string) (repositoryStamp, bool), error),
) error {
	if m.done || m.Past == "" {
		return nil
	}
	named := strings.Contains(line, "git")
	if !m.ready(ctx, named) {
		return nil
	}
	index, err := os.ReadFile(filepath.Join(m.Past, workspace.GitFiles, "index"))
	if !named && len(index) >= head && binary.BigEndian.Uint32(index[8:]) > maxEager {
		return nil
	}
	m.done = true
	if _, there := m.Root.Lstat(".git"); there == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) { // there are no commits
		index, err = nil, nil
	}
	if err == nil && index != nil {
		var of func(string) (repositoryStamp, bool)
		if of, err = stamps(); err == nil {
			err = fill(index, of)
		}
	}
	if err == nil {
		err = m.write(index)
	}
	if err != nil {
		err = errors.Join(
			fmt.Errorf("make repository: %w", err),
			m.Root.RemoveAll(".git"),
		) // an incomplete repository is worse than none
	}
	return err
}

// ready reports whether the history is complete. If wait is set, it waits for it.
func (m *gitMaker) ready(ctx context.Context, wait bool) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		if _, err := os.Stat(filepath.Join(m.Past, workspace.GitReady)); err == nil {
			return true
		}
		if _, err := os.Stat(filepath.Join(m.Past, workspace.GitFailed)); err == nil {
			m.done = true
			return false
		}
		if !wait {
			return false
		}
		select {
		case <-tick.C:
		case <-over.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (m *gitMaker) write(index []byte) error {
	for _, dir := range []string{"", "objects", "objects/info", "objects/pack", "info", "refs", "refs/heads", "refs/tags"} {
		if err := m.Root.Mkdir(path.Join(".git", dir), 0o755); err != nil {
			return err
		}
	}
	from := filepath.Join(m.Past, workspace.GitFiles)
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"objects/info/alternates": []byte(filepath.Join(m.Past, workspace.GitObjects) + "\n"),
		"info/exclude":            []byte(ignoredFiles(m.Past) + "\n/.handrail-*\n"),
	}
	for _, e := range list {
		if files[e.Name()], err = os.ReadFile(filepath.Join(from, e.Name())); err != nil {
			return err
		}
	}
	if index != nil {
		files["index"] = index
	}
	for name, data := range files {
		if err := m.Root.WriteFile(path.Join(".git", name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Offsets in git's index, version 2: a header, entries with a fixed part and a name
// padded to eight bytes, and a checksum.
const (
	head  = 12
	fixed = 62
	mtime = 8
	inode = 20
	uid   = 28
	gid   = 32
	size  = 36
)

var errMalformed = errors.New("the list of files is malformed")

// fill writes the stamps of unchanged files into git's index, so that git need not read
// them. Entries without a stamp are read by git.
func fill(index []byte, of func(name string) (repositoryStamp, bool)) error {
	if len(index) < head+sha1.Size {
		return errMalformed
	}
	end := len(index) - sha1.Size
	rest := index[head:end]
	for range binary.BigEndian.Uint32(index[8:]) {
		if len(rest) < fixed {
			return errMalformed
		}
		n := strings.IndexByte(string(rest[fixed:min(len(rest), fixed+maxName)]), 0)
		entry := (fixed + n + 8) &^ 7
		if n < 1 || len(rest) < entry {
			return errMalformed
		}
		if st, ok := of(string(rest[fixed : fixed+n])); ok {
			binary.BigEndian.PutUint32(rest[mtime:], uint32(st.Mtime/1e9))
			binary.BigEndian.PutUint32(rest[mtime+4:], uint32(st.Mtime%1e9))
			binary.BigEndian.PutUint32(rest[inode:], uint32(st.Inode))
			binary.BigEndian.PutUint32(rest[uid:], st.UID)
			binary.BigEndian.PutUint32(rest[gid:], st.GID)
			binary.BigEndian.PutUint32(rest[size:], uint32(st.Size))
		}
		rest = rest[entry:]
	}
	sum := sha1.Sum(index[:end])
	copy(index[end:], sum[:])
	return nil
}

// maxName exceeds the length of any path.
const maxName = 8 << 10
