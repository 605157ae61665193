package threadref

// Refs below refs/agent/sessions hold the log of a session, refs/agent/sessions/<id>, as a copy to read.
// Each write is a commit that moves the ref only from the commit that its writer read, so that the
// second of two writers finds the ref moved.
//
// The ref holds one compressed file with the whole log, "log.jsonl.gz" in the format of
// [store.WriteLog].

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// Prefix begins the names of session refs.
const Prefix = "refs/agent/sessions/"

// logFile is the file in a ref.
const logFile = "log.jsonl.gz"

// maxLog is the maximum size of an unpacked log, in bytes.
const maxLog = 1 << 30

// ErrMoved is wrapped by [Repo.WriteRef] if the ref is not at the expected commit.
var ErrMoved = gitops.ErrStale

// Repo is a git repository with its remote, such as a [gitops.Mirror].
type Repo interface {
	// ReadRef returns the files of the remote ref's commit, and the commit's id. A missing
	// ref gives no files, an empty id and no error.
	ReadRef(ctx context.Context, ref string) (files map[string][]byte, commit string, err error)
	// WriteRef makes a commit of exactly files, without a parent, and moves the remote ref
	// to it if the ref is at old; an empty old means that ref must not exist. It returns
	// the new commit's id. The error wraps [ErrMoved] if the ref is elsewhere, also if the
	// remote refused because another push was faster ("cannot lock ref").
	WriteRef(ctx context.Context, ref string, files map[string][]byte, old string) (commit string, err error)
}

// plain matches session ids, which become part of ref names.
var plain = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Log reads the log of a session. A missing log has no events.
func Log(ctx context.Context, repo Repo, id string) ([]session.Event, error) {
	events, _, err := read(ctx, repo, id)
	return events, err
}

// read returns the log and the ref's commit.
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
// [store.ErrExists]. Nothing is redacted: the log keeps its hashes. If another push was
// faster, Import reads the ref again, and gives up after three attempts.
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
