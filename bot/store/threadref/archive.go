package threadref

// Session logs are read and written outside of databases: in files, and in refs of a git
// repository.
//
//	archive.go  files, and a ref for each session
//	threads.go  refs with a whole thread, as workflow runs keep them

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy/secret"
)

// Misuse is an error that the user can fix by changing the arguments.
type Misuse struct{ error }

// Unwrap returns the underlying error.
func (m Misuse) Unwrap() error { return m.error }

func misuse(format string, args ...any) error { return Misuse{fmt.Errorf(format, args...)} }

// GitAddress begins the address of a repository: git:ADDRESS[#SESSION]. ADDRESS is a URL, or
// the path of a clone or a bare repository. Any other address is a file, or - for
// standard input and output.
const GitAddress = "git:"

// IsGit reports whether address names a repository, not a file.
func IsGit(address string) bool { return strings.HasPrefix(address, GitAddress) }

// Repository is a git repository with session logs.
type Repository struct {
	Repo

	repo    *gitops.Mirror // the same repository
	session string         // session in the address, or ""
	key     secret.Value
	address string
	close   func() error
}

// ArchiveConfig configures the access to repositories.
type ArchiveConfig struct {
	Token string       // for URLs; "" means anonymous access
	Key   secret.Value // opens refs sealed by workflow runs; "" if there is no key
	Log   *slog.Logger
}

// Close releases the repository and removes its temporary files.
func (r *Repository) Close() error { return r.close() }

// Address returns the address of the repository, without a session.
func (r *Repository) Address() string { return r.address }

// OpenRepository opens the repository at an address.
func OpenRepository(ctx context.Context, cfg ArchiveConfig, address string) (*Repository, error) {
	given := address
	address, id, _ := strings.Cut(strings.TrimPrefix(address, GitAddress), "#")
	if address == "" {
		return nil, misuse(
			"%s names no repository: want git:https://host/owner/name or git:PATH, with #SESSION for one of them",
			given,
		)
	}
	r := &Repository{session: id, address: GitAddress + address, key: cfg.Key}
	if !strings.Contains(address, "://") {
		var err error
		if r.repo, err = gitops.OpenLocal(address); err != nil {
			return nil, Misuse{err}
		}
		r.Repo, r.close = r.repo, r.repo.Close
		return r, nil
	}
	dir, err := os.MkdirTemp("", "handrail-refs-")
	if err != nil {
		return nil, err
	}
	auth := func(context.Context, string, gitops.Access) (string, string, error) {
		return "", cfg.Token, nil
	}
	git, err := gitops.New(gitops.Config{Dir: dir, Auth: auth, Log: cfg.Log})
	if err == nil {
		r.close = func() error { return errors.Join(git.Close(), os.RemoveAll(dir)) }
		r.repo, err = git.Bare(ctx, address)
	}
	if err != nil {
		return nil, errors.Join(Misuse{err}, os.RemoveAll(dir))
	}
	r.Repo = r.repo
	return r, nil
}

// Write stores a log under the ref of its session. The ref must not have a log yet.
func (r *Repository) Write(ctx context.Context, id string, events []session.Event) error {
	if r.session != "" && r.session != id {
		return misuse("the log is that of session %s, and %s#%s is for another", id, r.address, r.session)
	}
	return Import(ctx, r, id, events)
}

// Redact removes secrets, and chains the log anew if there were any. It returns the
// number of events with secrets.
func Redact(known *secret.Redactor, events []session.Event) (int, error) {
	hidden := 0
	all := make([]*session.Event, len(events))
	for i := range events {
		all[i] = &events[i]
		before := string(events[i].Data)
		if !known.Contains(before) {
			continue
		}
		err := session.Rewrite(&events[i], func(_, text string) string {
			text, _ = known.Redact(text)
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

// ReadText reads a log in either format: as exported, or as the command line keeps it,
// one event per line.
func ReadText(data []byte) (id string, events []session.Event, err error) {
	if bytes.HasPrefix(data, []byte(`{"handrail":`)) {
		return store.ReadLog(bytes.NewReader(data))
	}
	events, whole, err := session.ReadEvents(bytes.NewReader(data))
	if err != nil {
		return "", nil, err
	}
	if whole < int64(len(data)) {
		err = fmt.Errorf("%w after %d events", store.ErrTorn, len(events))
	}
	if len(events) > 0 && events[0].Type == session.TypeOpened {
		if p, derr := session.Decode[session.Opened](events[0]); derr == nil {
			id = p.Task.Session
		}
	}
	return id, events, err
}
