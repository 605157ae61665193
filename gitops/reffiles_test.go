package gitops

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// A ref of files has no history: it costs as much to read as what is in it, however
// often it was written. What is there already is not sent again.
func TestRefFilesHaveNoHistory(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, _, bare, _ := seeded(t, map[string]string{"a": "1\n"})
	const ref = "refs/agent/sessions/thread-1"
	git(t, bare, "config", "receive.unpackLimit", "1") // what came is kept as it came
	big := make([]byte, 1<<20)
	_, _ = rand.Read(big)
	commit := ""
	for n := range 20 {
		var err error
		if commit, err = m.WriteRef(t.Context(), ref, map[string][]byte{"big": big, "state": []byte(strconv.Itoa(n))}, commit); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.TrimSpace(git(t, bare, "rev-list", "--count", ref)); n != "1" {
		t.Errorf("the ref has %s commits", n)
	}
	stored := 0
	for line := range strings.Lines(git(t, bare, "count-objects", "-v")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if kib, err := strconv.Atoi(value); err == nil && strings.HasPrefix(name, "size") && name != "size-garbage" {
			stored += kib
		}
	}
	if stored > 3<<10 {
		t.Errorf("the remote got %d KiB for 1 MiB that was written once", stored)
	}
	files, at, err := m.ReadRef(t.Context(), ref)
	if err != nil || at != commit || string(files["state"]) != "19" || !bytes.Equal(files["big"], big) {
		t.Errorf("read back at %s: %q, %v", at, files["state"], err)
	}
}

// Of writers at the same time one moves the ref, the others are told that it moved.
func TestRefFilesAtOnce(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	m, _, bare, _ := seeded(t, map[string]string{"a": "1\n"})
	const ref = "refs/agent/sessions/thread-1"
	write := func(old string, n int) (string, error) {
		return m.WriteRef(t.Context(), ref, map[string][]byte{"state": fmt.Append(nil, old, n)}, old)
	}
	first, err := write("", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{first, ""} {
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { _, errs[i] = write(old, 1+i) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, ErrStale) {
				t.Errorf("a writer that was too late: %v", err)
			}
		}
		if want := map[bool]int{true: 1}[old == first]; won != want {
			t.Errorf("%d writers from %q moved the ref, want %d", won, old, want)
		}
	}
	if err := m.Push(t.Context(), Push{Ref: ref, Old: first}); !errors.Is(err, ErrRejected) {
		t.Errorf("a ref that moved was deleted: %v", err)
	}
	if n := strings.TrimSpace(git(t, bare, "rev-list", "--count", ref)); n != "1" {
		t.Error(fmt.Sprint("the ref has commits: ", n))
	}
}
