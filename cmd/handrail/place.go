package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/gitref"
	"github.com/handrail-bot/handrail/gitops"
)

// gitPlace starts the name of a place that is a git repository:
// git:ADDRESS[#SESSION]. ADDRESS is a URL or the path of a clone or a bare
// repository. All else is a file, or - for standard input and output.
const gitPlace = "git:"

// isGit tells a repository from a file.
func isGit(place string) bool { return strings.HasPrefix(place, gitPlace) }

// refs is a repository that holds logs of sessions.
type refs struct {
	repo    *gitops.Mirror
	session string // that the place names, or ""
	place   string
	close   func() error
}

// openRefs opens a place that is a repository. A URL is asked with the token
// in HANDRAIL_GITHUB_TOKEN, if there is one.
func openRefs(ctx context.Context, w *world, place string) (*refs, error) {
	address, id, _ := strings.Cut(strings.TrimPrefix(place, gitPlace), "#")
	if address == "" {
		return nil, usage("%s names no repository: want git:https://host/owner/name or git:PATH, and #SESSION behind it if one is meant", place)
	}
	r := &refs{session: id, place: gitPlace + address}
	if !strings.Contains(address, "://") {
		var err error
		if r.repo, err = gitops.OpenLocal(address); err != nil {
			return nil, usageError{err}
		}
		r.close = r.repo.Close
		return r, nil
	}
	dir, err := os.MkdirTemp("", "handrail-refs-")
	if err != nil {
		return nil, err
	}
	auth := func(context.Context, string) (string, string, error) {
		return "", os.Getenv("HANDRAIL_GITHUB_TOKEN"), nil
	}
	git, err := gitops.New(gitops.Config{Dir: dir, Auth: auth, Log: w.log})
	if err == nil {
		r.close = func() error { return errors.Join(git.Close(), os.RemoveAll(dir)) }
		r.repo, err = git.Bare(ctx, address)
	}
	if err != nil {
		return nil, errors.Join(usageError{err}, os.RemoveAll(dir))
	}
	return r, nil
}

// ReadRef implements gitref.Repo.
func (r *refs) ReadRef(ctx context.Context, ref string) (map[string][]byte, string, error) {
	return r.repo.RefFiles(ctx, ref)
}

// WriteRef implements gitref.Repo.
func (r *refs) WriteRef(ctx context.Context, ref string, files map[string][]byte, old string) (string, error) {
	commit, err := r.repo.PutRefFiles(ctx, ref, files, old)
	if errors.Is(err, gitops.ErrRejected) || errors.Is(err, gitops.ErrStale) {
		err = fmt.Errorf("%w: %w", gitref.ErrMoved, err)
	}
	return commit, err
}

// sessions lists what the repository holds, or the one that the place names.
func (r *refs) sessions(ctx context.Context) ([]string, error) {
	if r.session != "" {
		return []string{r.session}, nil
	}
	all, err := r.repo.RemoteRefs(ctx, gitref.Prefix)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		ids = append(ids, strings.TrimPrefix(name, gitref.Prefix))
	}
	if len(ids) == 0 {
		return nil, usage("%s holds no sessions: there is nothing below %s", r.place, gitref.Prefix)
	}
	return ids, nil
}

// log reads the log of the one session that a place names.
func (r *refs) log(ctx context.Context) (id string, events []session.Event, err error) {
	ids, err := r.sessions(ctx)
	if err != nil {
		return "", nil, err
	}
	if len(ids) > 1 {
		return "", nil, usage("%s holds %d sessions: say which, as %s#%s", r.place, len(ids), r.place, ids[0])
	}
	s, err := gitref.New(gitref.Config{Repo: r})
	if err != nil {
		return "", nil, err
	}
	events, err = s.Log(store.Fence{Key: ids[0]}).Events(ctx, 0)
	if err == nil && len(events) == 0 {
		err = usage("%s holds no session %s", r.place, ids[0])
	}
	return ids[0], events, err
}

// save stores a log under the ref of its session. When another push was
// faster it looks again at what is there.
func (r *refs) save(ctx context.Context, id string, events []session.Event) error {
	if r.session != "" && r.session != id {
		return usage("the log is that of session %s, and %s#%s is for another", id, r.place, r.session)
	}
	s, err := gitref.New(gitref.Config{Repo: r})
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := store.WriteLog(&text, id, events); err != nil {
		return err
	}
	for range 3 {
		if _, err = s.Import(ctx, bytes.NewReader(text.Bytes())); !errors.Is(err, gitref.ErrMoved) {
			break
		}
	}
	return err
}

// readPlace reads a log from wherever it is kept besides databases.
func readPlace(ctx context.Context, w *world, place string) (id string, events []session.Event, err error) {
	switch {
	case isGit(place):
		err = withRefs(ctx, w, place, func(r *refs) (err error) {
			id, events, err = r.log(ctx)
			return err
		})
		return id, events, err
	case place == "-":
		data, err := io.ReadAll(w.in)
		if err != nil {
			return "", nil, err
		}
		return readLogText(data)
	}
	return readLogFile(place)
}

// withRefs opens a repository for a while.
func withRefs(ctx context.Context, w *world, place string, fn func(*refs) error) error {
	r, err := openRefs(ctx, w, place)
	if err != nil {
		return err
	}
	return errors.Join(fn(r), r.close())
}

// writePlace writes a log to wherever it is to be kept besides databases. A
// repository may be read by many, so that secrets are taken out before; the
// log has hashes of its own then.
func writePlace(ctx context.Context, w *world, place, id string, events []session.Event) error {
	if isGit(place) {
		hidden, err := redactEvents(newSecrets(environmentSecrets(os.Environ())...), events)
		if err != nil {
			return err
		}
		if hidden > 0 {
			w.log.WarnContext(ctx, "secrets were taken out of the log: its hashes are not those of the database", "session", id, "events", hidden)
		}
		return withRefs(ctx, w, place, func(r *refs) error { return r.save(ctx, id, events) })
	}
	var text bytes.Buffer
	if err := store.WriteLog(&text, id, events); err != nil {
		return err
	}
	if place == "-" {
		// A changed byte breaks the chain, so nothing is made inert here.
		if os.Getenv("GITHUB_ACTIONS") == "true" && bytes.Contains(text.Bytes(), []byte("##[")) {
			return usage("the log holds text that a workflow runner takes for a command: name a file with --to")
		}
		_, err := w.raw.Write(text.Bytes())
		return err
	}
	return os.WriteFile(place, text.Bytes(), 0o600)
}

// redactEvents takes secrets out and chains the log anew if there were any.
// It returns how many events held some.
func redactEvents(known *secrets, events []session.Event) (int, error) {
	hidden := 0
	all := make([]*session.Event, len(events))
	for i := range events {
		all[i] = &events[i]
		before := string(events[i].Data)
		if !known.Redactor.Contains(before) {
			continue
		}
		err := session.Rewrite(&events[i], func(_, text string) string {
			text, _ = known.Redactor.Redact(text)
			return text
		})
		if err != nil {
			return hidden, err
		}
		if string(events[i].Data) != before {
			hidden++
		}
	}
	if hidden > 0 {
		session.Chain(0, "", all)
	}
	return hidden, nil
}
