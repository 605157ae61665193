package threadref_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/bot/store/threadref"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// mutants is how many refs are tried that somebody changed.
const mutants = 400

// filled is a ref with two sessions, one of them with a log of some parts, and all kinds
// of records.
func filled(t *testing.T) map[string][]byte {
	t.Helper()
	ctx, m := t.Context(), &memory{}
	a, _ := two(m, nil)
	kept := a.Store()
	text := strings.Repeat("0123456789abcdef", 9<<10)
	for n, id := range []string{"s1", "s2"} {
		put(t, a, "d"+id)
		must(t, kept.Sessions.Create(ctx, &store.Session{ID: id, Thread: thread, Data: []byte(`{"a": 1}`)}))
		l, err := kept.Leases.Acquire(ctx, id, "run-1-1", time.Hour)
		must(t, err)
		must(t, kept.Intents.Intend(ctx, l.Fence(), &store.Intent{Key: "k" + id, Session: id, Kind: "comment", Payload: []byte("{}")}))
		for range 1 + n {
			must(t, kept.Logs.Log(l.Fence()).Append(ctx, session.NewEvent(session.TypeNote, 1, session.Note{Text: text})))
		}
		must(t, kept.Logs.Log(l.Fence()).Append(ctx, session.NewEvent(session.TypeResolved, 1, session.Resolved{ID: "a", By: "kim"}), session.NewEvent(session.TypeEnded, 1, session.Ended{})))
		if n == 0 {
			_, err = kept.Leases.Release(ctx, l, time.Time{})
			must(t, err)
		}
	}
	must(t, kept.Deliveries.Done(ctx, "", "ds1"))
	must(t, kept.Meta.Set(ctx, "k", []byte("v")))
	must(t, a.Flush(ctx))
	return m.files
}

func zipped(text []byte) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write(text)
	_ = zip.Close()
	return out.Bytes()
}

func unzipped(data []byte) []byte {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil // it was changed before
	}
	out, _ := io.ReadAll(zip)
	return out
}

// attacker changes a ref, as somebody may who can push.
type attacker struct {
	*rand.Rand
	t *testing.T
}

func (a attacker) one(names []string) string { return names[a.IntN(len(names))] }

// change makes one change, and says which.
func (a attacker) change(files map[string][]byte) (what string) {
	names := slices.Sorted(maps.Keys(files))
	name := a.one(names)
	switch a.IntN(9) {
	case 0:
		data := append(bytes.Clone(files[name]), 0)
		data[a.IntN(len(data))] ^= byte(1 + a.IntN(255))
		files[name], what = data, "a byte of "
	case 1:
		files[name], what = files[name][:a.IntN(1+len(files[name]))], "cut "
	case 2:
		other := a.one(names)
		files[name], files[other], what = files[other], files[name], "swapped with "+other+": "
	case 3:
		files[a.one(names)+"x"], what = files[name], "one more like "
	case 4:
		delete(files, name)
		what = "gone "
	case 5:
		to := strings.Replace(name, "s2.", a.one([]string{"s1.", "s3.", "../", "."}), 1)
		files[to], what = files[name], "renamed to "+to+": "
	case 6:
		lines := bytes.SplitAfter(unzipped(files[name]), []byte("\n"))
		i, j := a.IntN(len(lines)), a.IntN(len(lines))
		lines[i], lines[j] = lines[j], lines[i][:a.IntN(1+len(lines[i]))]
		files[name], what = zipped(bytes.Join(lines, nil)), "lines of "
	default:
		name = "state.json.gz"
		var v any
		if json.Unmarshal(unzipped(files[name]), &v) != nil {
			return "no state "
		}
		what = a.value(&v) + " in "
		data, err := json.Marshal(v)
		must(a.t, err)
		files[name] = zipped(data)
	}
	return what + name
}

// strange are values that nothing of ours has.
var strange = []any{nil, "", "x", -1, 0, 1, 9223372036854775807, 1e300, true, []any{}, []any{nil}, []any{"s1", "s1"}, map[string]any{}, map[string]any{"": nil}, map[string]any{"s1": nil}, "9999-12-31T23:59:59Z", "s1", "octo/other#2"}

// value changes a value somewhere in what a file says.
func (a attacker) value(v *any) string {
	switch x := (*v).(type) {
	case map[string]any:
		if len(x) > 0 && a.IntN(6) > 0 {
			key := a.one(slices.Sorted(maps.Keys(x)))
			if a.IntN(12) == 0 {
				delete(x, key)
				return key + " taken out"
			}
			if a.IntN(12) == 0 {
				x[a.one([]string{"s1", "s2", "s3", "", thread})] = x[key]
				return key + " once more"
			}
			inner := x[key]
			what := a.value(&inner)
			x[key] = inner
			return key + "." + what
		}
	case []any:
		if len(x) > 0 && a.IntN(3) > 0 {
			i := a.IntN(len(x))
			if a.IntN(6) == 0 {
				*v = append(x, x[i])
				return "one twice"
			}
			return fmt.Sprint(i, ".") + a.value(&x[i])
		}
	}
	*v = strange[a.IntN(len(strange))]
	return fmt.Sprintf("%v", *v)
}

// A ref that somebody changed is refused, or it is one as this program writes them: what
// is in it can be read and worked on, its logs are unbroken, and what is written is read
// back. Nothing of it ends the process.
func TestMutatedRefs(t *testing.T) {
	t.Parallel()
	longtest.Leave(t)
	good := filled(t)
	refused, taken := 0, 0
	for seed := range uint64(mutants) {
		files, a := maps.Clone(good), attacker{rand.New(rand.NewPCG(seed, 1)), t}
		var what []string
		for range 1 + a.IntN(2) {
			if len(files) > 0 {
				what = append(what, a.change(files))
			}
		}
		err := lives(t, &memory{files: files, n: 1})
		if err == nil {
			taken++
			continue
		}
		refused++
		if !strings.Contains(err.Error(), "refs/agent/sessions/thread-1") {
			t.Errorf("seed %d, %s: the error does not name the ref: %v", seed, what, err)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, what)
		}
	}
	if refused < mutants/2 || taken < mutants/20 {
		t.Errorf("of %d refs %d were refused, and %d taken", mutants, refused, taken)
	}
}

// lives has a run work with a ref. It returns an error where the ref is refused.
func lives(t *testing.T, m *memory) error {
	t.Helper()
	ctx := t.Context()
	a, b := two(m, nil)
	kept := a.Store()
	heads, err := kept.Logs.Heads(ctx)
	if err != nil {
		return err
	}
	for _, h := range heads {
		events, err := kept.Logs.Log(store.Fence{Key: h.Session}).Events(ctx, 0)
		if err = errors.Join(err, session.Verify(events)); err != nil || int64(len(events)) != h.Seq {
			t.Errorf("a log was taken that is broken: %d of %d events: %v", len(events), h.Seq, err)
		}
	}
	_, err = kept.Sessions.List(ctx, store.Query{})
	must(t, err)
	_, err = kept.Wakes.Waiting(ctx, 10)
	must(t, err)
	_, err = kept.Wakes.Urgent(ctx, thread, store.PriorityIdle, 0)
	must(t, err)
	_, err = kept.Intents.Open(ctx, "s1")
	must(t, err)
	put(t, a, "new")
	must(t, store.Unless(kept.Sessions.Create(ctx, &store.Session{ID: "s1", Thread: thread}), store.ErrExists))
	l, err := kept.Leases.Acquire(ctx, "s1", "run-7-1", time.Hour)
	if err == nil {
		must(t, kept.Logs.Log(l.Fence()).Append(ctx, session.NewEvent(session.TypeEnded, 1, session.Ended{})))
		must(t, kept.Intents.Intend(ctx, l.Fence(), &store.Intent{Key: "knew", Session: "s1", Kind: "comment"}))
		_, err = kept.Leases.Release(ctx, l, time.Time{})
	}
	if err = store.Unless(store.Unless(err, store.ErrHeld), store.ErrPutOff); err != nil {
		t.Error(err)
	}
	must(t, kept.Meta.Set(ctx, "new", []byte("v")))
	must(t, a.Flush(ctx))
	if unknown, err := b.Store().Deliveries.Unknown(ctx, "new"); err != nil || len(unknown) > 0 {
		t.Errorf("what was written is not read back: %v, %v", unknown, err)
	}
	return nil
}

// A ref that unpacks to more than it may is refused before it fills the memory.
func TestHugeRef(t *testing.T) {
	t.Parallel()
	good := filled(t)
	size := int64(0)
	for _, data := range good {
		size += int64(len(unzipped(data)))
	}
	for most, ok := range map[int64]bool{size: true, size - 1: false, 1000: false} {
		s := threadref.New(threadref.Config{Repo: &memory{files: good, n: 1}, Ref: "refs/agent/sessions/thread-1", MaxUnpacked: most})
		if _, err := s.Store().Logs.Heads(t.Context()); (err == nil) != ok {
			t.Errorf("%d bytes of %d may be read: %v", most, size, err)
		}
	}
}

// Records that are not there are none, and those that can be none are refused.
func TestRecordsByHand(t *testing.T) {
	t.Parallel()
	good := filled(t)
	type m = map[string]any
	for name, c := range map[string]struct {
		change func(m)
		ok     bool
	}{
		"as they are":               {func(m) {}, true},
		"no known deliveries":       {func(is m) { is["known"] = nil }, true},
		"no values":                 {func(is m) { is["values"] = nil }, true},
		"no leases":                 {func(is m) { is["leases"] = nil }, true},
		"no sessions":               {func(is m) { is["sessions"], is["order"] = nil, nil }, true},
		"no writes":                 {func(is m) { is["intents"], is["planned"] = nil, nil }, true},
		"no ends of logs":           {func(is m) { is["heads"] = nil }, false},
		"no end of a log":           {func(is m) { delete(is["heads"].(m), "s2") }, false},
		"an end of no log":          {func(is m) { is["heads"].(m)["s3"] = is["heads"].(m)["s1"] }, false},
		"a session of another name": {func(is m) { is["sessions"].(m)["s3"] = is["sessions"].(m)["s1"] }, false},
		"a session out of order":    {func(is m) { is["order"] = []any{"s1"} }, false},
		"a session twice":           {func(is m) { is["order"] = []any{"s1", "s1", "s2"} }, false},
		"a write out of order":      {func(is m) { is["planned"] = []any{} }, false},
		"a lease of another name":   {func(is m) { is["leases"].(m)["s3"] = is["leases"].(m)["s2"] }, false},
		"a lease for ever":          {func(is m) { is["leases"].(m)["s1"].(m)["epoch"] = int64(9223372036854775807) }, false},
		"a delivery twice":          {func(is m) { is["deliveries"] = append(is["deliveries"].([]any), is["deliveries"].([]any)...) }, false},
		"no delivery after this":    {func(is m) { is["seq"] = int64(9223372036854775807) }, false},
		"another form":              {func(is m) { is["form"] = 2 }, false},
	} {
		is := m{}
		must(t, json.Unmarshal(unzipped(good["state.json.gz"]), &is))
		c.change(is)
		data, err := json.Marshal(is)
		must(t, err)
		files := maps.Clone(good)
		files["state.json.gz"] = zipped(data)
		if err := lives(t, &memory{files: files, n: 1}); (err == nil) != c.ok {
			t.Errorf("%s: taken %t, want %t: %v", name, err == nil, c.ok, err)
		}
	}
}
