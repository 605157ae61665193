// Package gitref keeps what has no database in git refs below
// refs/agent/sessions: here the log of a session, refs/agent/sessions/<id>, as a
// copy to read. Each write is a commit that moves the ref only from where its
// writer saw it, so that of two writers the second finds the ref moved.
//
// The ref holds one compressed file with the whole log, "log.jsonl.gz" in the
// form of [store.WriteLog].
package gitref

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Prefix is where the refs of sessions are.
const Prefix = "refs/agent/sessions/"

// logFile is the file in a ref.
const logFile = "log.jsonl.gz"

// maxLog limits what a compressed log unpacks to.
const maxLog = 1 << 30

// ErrMoved is what [Repo.WriteRef] wraps when the ref is not where the writer
// believes it to be.
var ErrMoved = errors.New("ref has moved")

// Repo is a git repository, with its remote. It is satisfied by package
// gitops through cmd.
type Repo interface {
	// ReadRef returns the files of the commit that ref points to on the
	// remote, and the commit's id. A ref that does not exist gives no files,
	// the empty id and no error.
	ReadRef(ctx context.Context, ref string) (files map[string][]byte, commit string, err error)
	// WriteRef makes a commit of exactly files, without a parent, and moves
	// ref to it on the remote, if ref is at old there; the empty old means
	// that ref must not exist. It returns the new commit's id, or an error
	// that wraps [ErrMoved], also when the remote refused because another push
	// was faster ("cannot lock ref").
	WriteRef(ctx context.Context, ref string, files map[string][]byte, old string) (commit string, err error)
}

// plain is what a session id is made of. It becomes part of a ref's name.
var plain = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Log reads the log of a session; it has no events where there is none.
func Log(ctx context.Context, repo Repo, id string) ([]session.Event, error) {
	events, _, err := read(ctx, repo, id)
	return events, err
}

// read also returns the commit that the ref is at.
func read(ctx context.Context, repo Repo, id string) ([]session.Event, string, error) {
	if !plain().MatchString(id) {
		return nil, "", fmt.Errorf("%q is not a session id", id)
	}
	files, commit, err := repo.ReadRef(ctx, Prefix+id)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", Prefix+id, err)
	}
	data, ok := files[logFile]
	if !ok {
		return nil, commit, nil
	}
	events, err := unpack(id, data)
	if err != nil {
		return nil, "", fmt.Errorf("read log in %s: %w", Prefix+id, err)
	}
	return events, commit, nil
}

func unpack(id string, data []byte) ([]session.Event, error) {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	got, events, err := store.ReadLog(io.LimitReader(zip, maxLog))
	if err != nil {
		return nil, err
	}
	if got != id {
		return nil, fmt.Errorf("it is the log of session %q", got)
	}
	return events, nil
}

// Import stores a log under a ref that has none yet, else it fails with
// [store.ErrExists]. Nothing is redacted: the log keeps its hashes. When another
// push was faster it looks again at what is there, and gives up after a few.
func Import(ctx context.Context, repo Repo, id string, events []session.Event) error {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if err := errors.Join(store.WriteLog(zip, id, events), zip.Close()); err != nil {
		return err
	}
	var err error
	for range 3 {
		old, commit, rerr := read(ctx, repo, id)
		if rerr != nil {
			return rerr
		}
		if len(old) > 0 {
			return fmt.Errorf("import session %s: %w", id, store.ErrExists)
		}
		_, err = repo.WriteRef(ctx, Prefix+id, map[string][]byte{logFile: packed.Bytes()}, commit)
		if err == nil {
			return nil
		}
		if err = fmt.Errorf("write %s: %w", Prefix+id, err); !errors.Is(err, ErrMoved) {
			return err
		}
	}
	return err
}
