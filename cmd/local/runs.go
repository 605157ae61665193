// The sessions of `handrail run` on this machine. Each has a log in the user's state
// directory, and a lock that shows whether it is running.

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/gitops/flock"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

const logEnd, lockEnd, appliedEnd = ".jsonl", ".lock", ".applied"

// Dir returns the directory of the logs. It may be missing.
func Dir() (string, error) {
	root := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(root) { // the standard has others ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find a place for sessions (set XDG_STATE_HOME): %w", err)
		}
		root = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(root, "handrail", "sessions"), nil
}

// StoredRun is a session as recorded in its log.
type StoredRun struct {
	ID      string
	File    string // path of the log
	Events  []session.Event
	State   *session.State
	Running bool // a process works on it
}

// Phase returns the word for the session's phase.
func (r *StoredRun) Phase() string {
	switch {
	case r.Running:
		return string(session.PhaseRunning)
	case r.State.Phase == session.PhaseRunning || r.State.Phase == session.PhaseQueued:
		return "interrupted"
	}
	return string(r.State.Phase)
}

// Read reads a session. An unknown id is a [door.UsageError].
func Read(id string) (*StoredRun, error) {
	if err := policy.ValidateSession(id); err != nil {
		return nil, door.UsageError{Err: err}
	}
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	r := &StoredRun{ID: id, File: filepath.Join(dir, id+logEnd)}
	f, err := os.Open(r.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, door.Usage("there is no session %s on this machine%s", id, suggestSession(id))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if r.Events, _, err = session.ReadEvents(f); err == nil {
		r.State, err = session.Fold(r.Events)
	}
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", r.File, err)
	}
	r.Running, err = isLocked(r.File)
	return r, err
}

// OrLast returns id, and without one the session of this machine that was worked on last;
// those of the clone around the current directory come first.
func OrLast(ctx context.Context, id string) (string, error) {
	if id != "" {
		return id, nil
	}
	list, err := List(50)
	if len(list) == 0 {
		return "", errors.Join(door.Usage("there is no session on this machine yet: `handrail run` begins one"), err)
	}
	if tree, err := WorkTreeOf(ctx, "."); err == nil {
		for _, r := range list {
			if r.State.Task.Clone.Path == tree.dir {
				return r.ID, nil
			}
		}
	}
	return list[0].ID, nil
}

// suggestSession suggests the session that was probably meant.
func suggestSession(id string) string {
	list, err := ids()
	if near := policy.Nearest(id, list); err == nil && near != "" {
		return ", did you mean " + near + "?"
	}
	return ": `handrail sessions list` shows them"
}

// Has reports whether a session with this id exists.
func Has(id string) bool {
	dir, err := Dir()
	if err != nil || policy.ValidateSession(id) != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, id+logEnd))
	return err == nil
}

// ids returns all session ids, the most recently changed first.
func ids() ([]string, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at := map[string]int64{}
	var out []string
	for _, e := range list {
		id, ok := strings.CutSuffix(e.Name(), logEnd)
		info, err := e.Info()
		if !ok || policy.ValidateSession(id) != nil || err != nil { // no log, or deleted meanwhile
			continue
		}
		at[id] = info.ModTime().UnixNano()
		out = append(out, id)
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(at[b], at[a]) })
	return out, nil
}

// List returns at most this number of sessions, the most recently changed first; 0
// returns all. The error names unreadable sessions; the others are returned anyway.
func List(most int) (list []*StoredRun, err error) {
	all, err := ids()
	if err != nil {
		return nil, err
	}
	for _, id := range all {
		if most > 0 && len(list) == most {
			break
		}
		r, rerr := Read(id)
		switch {
		case rerr != nil && Has(id):
			err = errors.Join(err, rerr)
		case rerr == nil && len(r.Events) > 0: // no event: it was never begun
			list = append(list, r)
		}
	}
	return list, err
}

// Words returns the completions for an argument or a flag of this name, each with a
// description after a tab: the sessions with the beginning of their tasks, the models of
// these sessions, the modes and the efforts.
func Words(name string) (out []string) {
	switch name {
	case "mode":
		for _, m := range policy.Modes() {
			out = append(out, m.Name+"\t"+m.Description)
		}
		return out
	case "effort":
		return []string{"low", "medium", "high"}
	case "session", "model":
	default:
		return nil
	}
	list, _ := List(50) // unreadable sessions are not offered
	for _, r := range list {
		word := r.ID + "\t" + Title(r.State.Task.Text)
		if name == "model" {
			word = r.State.Task.Model
		}
		if !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// Title returns the first line of a task, shortened and safe to print.
func Title(text string) string {
	return untrusted.EscapeLine(phrase.Short(phrase.FirstLine(text), 60))
}

// logOf is the log of a session, locked for this process.
type logOf struct {
	*session.File

	lock *os.File
}

// openRuns opens and locks the log of a session, or creates a new one.
func openRuns(id string) (*logOf, error) {
	if err := policy.ValidateSession(id); err != nil {
		return nil, door.UsageError{Err: err}
	}
	dir, err := Dir()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("make the directory of sessions (XDG_STATE_HOME names another place): %w", err)
	}
	path := filepath.Join(dir, id+logEnd)
	lock, err := tryLock(path)
	for n := 0; err == nil && lock == nil && n < 50; n++ { // a status query may hold the lock for a moment
		<-time.After(10 * time.Millisecond) // the end of a query cannot be awaited
		lock, err = tryLock(path)
	}
	if err != nil {
		return nil, err
	}
	if lock == nil { //control:run-one-process
		return nil, door.Usage("session %s is running in another process: wait for its end, or interrupt it there", id)
	}
	f, err := session.OpenFile(path)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &logOf{f, lock}, nil
}

// Close closes the log and releases the session's lock.
func (l *logOf) Close() error { return errors.Join(l.File.Close(), l.lock.Close()) }

// tryLock takes the lock of a log, which ends with the process. It returns nil if another
// process has the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(strings.TrimSuffix(path, logEnd)+lockEnd, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock session: %w", err)
	}
	free, err := flock.Try(f, true)
	if err != nil || !free {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isLocked reports whether a process works on the session of a log.
func isLocked(path string) (bool, error) {
	if _, err := os.Stat(strings.TrimSuffix(path, logEnd) + lockEnd); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	f, err := tryLock(path)
	if err != nil || f == nil {
		return err == nil, err
	}
	return false, f.Close()
}

// applied returns the newest session commit that was applied to the user's files. It is
// empty if nothing was applied.
func (r *StoredRun) applied() (string, error) {
	data, err := os.ReadFile(r.appliedFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(data)), err
}

// setApplied records the applied commit; empty records that nothing is applied.
func (r *StoredRun) setApplied(commit string) error {
	if commit == "" {
		return ignoreMissing(os.Remove(r.appliedFile()))
	}
	return os.WriteFile(r.appliedFile(), []byte(commit+"\n"), 0o600)
}

func (r *StoredRun) appliedFile() string { return strings.TrimSuffix(r.File, logEnd) + appliedEnd }

// ignoreMissing returns the error of a removal, nil if the file was missing.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// DeleteRuns deletes the logs of sessions, all or none: it keeps them from starting, and
// deletes none if one is running or if first fails.
func DeleteRuns(list []*StoredRun, first func() error) (err error) {
	var locks []*os.File
	defer func() {
		for _, f := range locks {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, r := range list {
		lock, err := tryLock(r.File)
		if err != nil {
			return err
		}
		if lock == nil {
			return door.Usage("session %s is running: interrupt it first", r.ID)
		}
		locks = append(locks, lock)
	}
	if err := first(); err != nil {
		return err
	}
	for i, r := range list {
		err = errors.Join(err, r.setApplied(""), os.Remove(r.File), os.Remove(locks[i].Name()))
	}
	return err
}
