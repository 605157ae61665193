package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// results are those of an earlier run, by task, in a file of JSON lines: a run of hours that was ended goes
// on where it was. The empty path keeps nothing.
type results[T any] struct {
	path string
	was  map[string]T
}

type keptLine[T any] struct {
	Task   string
	Result T
}

func resultsIn[T any](path string) (results[T], error) {
	k := results[T]{path: path, was: map[string]T{}}
	if path == "" {
		return k, nil
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	for line := range bytes.Lines(data) {
		var l keptLine[T]
		if json.Unmarshal(line, &l) == nil { // the last line may be cut
			k.was[l.Task] = l.Result
		}
	}
	return k, nil
}

// once returns the kept result of a task, or makes and keeps it.
func (k results[T]) once(task string, result func() T) (T, error) {
	if r, ok := k.was[task]; ok {
		return r, nil
	}
	r := result()
	return r, k.keep(task, r)
}

// keep keeps the result of a task for the next run. It is safe for concurrent use.
func (k results[T]) keep(task string, r T) error {
	if k.path == "" {
		return nil
	}
	line, err := json.Marshal(keptLine[T]{Task: task, Result: r})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(k.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(append([]byte("\n"), line...), '\n')) // behind a line that was cut
	return errors.Join(err, f.Close())
}

// A run that was ended, within a line even, goes on with what it has.
func TestKeptResults(t *testing.T) {
	t.Parallel()
	at, made := filepath.Join(t.TempDir(), "done"), 0
	play := func(task string) played {
		k, err := resultsIn[played](at)
		must(t, err)
		p, err := k.once(task, func() played {
			made++
			return played{Done: true, Said: task, Verdict: ladderVerdict{Visible: true, Hidden: made == 1}, Lost: []string{"a"}}
		})
		must(t, err)
		return p
	}
	first := play("one")
	play("two")
	data, err := os.ReadFile(at)
	must(t, err)
	must(t, os.WriteFile(at, data[:len(data)-9], 0o644))
	again := play("one")
	if !again.solved() || again.Said != first.Said || len(again.Lost) != 1 || made != 2 {
		t.Errorf("%d played: %+v, %+v", made, first, again)
	}
	if play("two"); made != 3 {
		t.Errorf("%d played: a result that was cut counts", made)
	}
	if play("two"); made != 3 {
		t.Errorf("%d played: a result behind a cut one is lost", made)
	}
}
