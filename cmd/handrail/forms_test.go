package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

var (
	large = llm.Capabilities{Tools: true, Parameters: 30e9, Digest: "large"}
	small = llm.Capabilities{Tools: true, Parameters: 1.5e9, Digest: "small"}
)

func memory(t *testing.T) *formsMemory {
	t.Helper()
	return newForms(formsConfig{File: filepath.Join(t.TempDir(), "state", "forms.json"), Server: "http://a:1"})
}

// history is one outcome a word: its form's first letter, and + or -.
func (m *formsMemory) history(caps llm.Capabilities, words string) {
	for w := range strings.FieldsSeq(words) {
		form := map[byte]llm.Form{'n': llm.FormNative, 't': llm.FormText, 'f': llm.FormFiles}[w[0]]
		m.Ended("m", caps, form, w[1] == '+')
	}
}

func TestBest(t *testing.T) {
	mute := large
	mute.Tools = false
	for _, tt := range []struct {
		name    string
		caps    llm.Capabilities
		history string
		want    llm.Form
	}{
		{"nothing is known", large, "", llm.FormAuto},
		{"it went well", large, "n+", llm.FormNative},
		{"the most capable one", large, "f+ t+ n+ f+", llm.FormNative},
		{"the one below, which was never tried", large, "n-", llm.FormText},
		{"the one below those that failed", large, "n- t-", llm.FormFiles},
		{"nothing is below", large, "n- t- f-", llm.FormFiles},
		{"what went well below", large, "n- t- f+", llm.FormFiles},
		{"what went well before what was never tried", large, "n- f+", llm.FormFiles},
		{"below the least that failed", large, "n- f-", llm.FormFiles},
		{"one failure of many", large, "n+ n+ n+ n-", llm.FormNative},
		{"two of four, the newer ones", large, "n+ n+ n- n-", llm.FormText},
		{"two of four, the older ones", large, "n- n- n+ n+", llm.FormNative},
		{"eight count", large, "n+ n+ n+ n+ n+ n+ n- n- n- n- n- n+ n+ n+", llm.FormNative},
		{"a small one that does it all the same", small, "n+", llm.FormNative},
		{"a small one in text", small, "t+ f+", llm.FormText},
		{"a small one in no form", small, "f-", llm.FormFiles},
		{"native is not offered any more", mute, "n+ n+", llm.FormAuto},
		{"native is not offered, and text was not good", mute, "n+ t- f+", llm.FormFiles},
		{"tried once more after twenty", large, "n-" + strings.Repeat(" t+", retryAfter), llm.FormNative},
		{"and not before", large, "n-" + strings.Repeat(" t+", retryAfter-1), llm.FormText},
		{"a small one is not tried in what it would not begin with", small, "n-" + strings.Repeat(" t+", retryAfter), llm.FormText},
	} {
		m := memory(t)
		m.history(tt.caps, tt.history)
		if got := m.Best("m", tt.caps); got != tt.want {
			t.Errorf("%s: after %q the best form is %q, want %q", tt.name, tt.history, got, tt.want)
		}
	}
}

// Weights are known by their digest: under another name, and not under the same one when
// they are others. A server that tells no digest is asked by the name.
func TestDigest(t *testing.T) {
	m := memory(t)
	m.Ended("m", large, llm.FormText, true)
	if got := m.Best("other", large); got != llm.FormText {
		t.Errorf("the same weights under another name: %q", got)
	}
	nameless := large
	nameless.Digest = ""
	if got := m.Best("m", nameless); got != llm.FormText {
		t.Errorf("without a digest: %q", got)
	}
	elsewhere := newForms(formsConfig{File: m.cfg.File, Server: "http://b:1"})
	if got := elsewhere.Best("m", nameless); got != llm.FormAuto {
		t.Errorf("without a digest, on another server: %q", got)
	}
	renewed := large
	renewed.Digest = "renewed"
	if got := m.Best("m", renewed); got != llm.FormAuto {
		t.Errorf("other weights under the name: %q", got)
	}
	m.Ended("m", renewed, llm.FormFiles, true)
	if got := m.Best("m", large); got != llm.FormAuto {
		t.Errorf("the former weights are not forgotten: %q", got)
	}
}

// Sessions begin with the best form and step down, with models that do well at random. A
// form that always fails is begun with at most once in twenty outcomes of others, and native
// never where it is not offered.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		caps := []llm.Capabilities{large, small, {Digest: "mute", Parameters: 30e9}}[r.IntN(3)]
		chance := map[llm.Form]float64{llm.FormNative: 0, llm.FormText: r.Float64(), llm.FormFiles: r.Float64()}
		rec, since, begun := &record{}, -1, 0
		for range 120 {
			form := rec.best(caps)
			if form == llm.FormNative && !caps.Tools {
				t.Fatalf("seed %d: native is not offered", seed)
			}
			if form == llm.FormAuto {
				if len(rec.Forms) > 0 {
					t.Fatalf("seed %d: %v says nothing", seed, rec.Forms)
				}
				form = llm.FormOf(caps)
			}
			if r.IntN(10) == 0 && caps.Tools { // the operator chooses
				form, since = llm.FormNative, -1
			}
			if form == llm.FormNative {
				if since >= 0 && since < retryAfter {
					t.Fatalf("seed %d: native again after %d outcomes", seed, since)
				}
				begun++
				since = 0
			}
			for {
				well := r.Float64() < chance[form]
				rec.take(form, well)
				if form != llm.FormNative && since >= 0 {
					since++
				}
				if len(rec.Forms[form].Last) > maxLast {
					t.Fatalf("seed %d: %q is kept", seed, rec.Forms[form].Last)
				}
				if well || form == llm.FormFiles {
					break
				}
				form = form.Simpler()
			}
		}
	}
}

// A form that always goes well is begun with after it was once.
func TestGoodOneStays(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		rec, good := &record{}, ranked[r.IntN(len(ranked))]
		rec.take(good, true)
		for range 60 {
			form := ranked[r.IntN(len(ranked))]
			rec.take(form, form == good)
			best := rec.best(large)
			if best != good && rec.Forms[best].Others < retryAfter {
				t.Fatalf("seed %d: %s goes well, and the best is %s: %v", seed, good, best, rec.Forms)
			}
		}
	}
}

// Several processes remember at the same time, and nothing is lost.
func TestTogether(t *testing.T) {
	name := memory(t).cfg.File
	var wait sync.WaitGroup
	for i := range 6 {
		m := newForms(formsConfig{File: name, Server: "http://a:1"})
		wait.Go(func() {
			for j := range 5 {
				m.Ended(fmt.Sprint("m", i), llm.Capabilities{Digest: fmt.Sprint(i)}, llm.FormFiles, j%2 == 0)
				m.Best("m0", llm.Capabilities{})
			}
		})
	}
	wait.Wait()
	c, err := load(name)
	if err != nil || len(c.Models) != 6 {
		t.Fatalf("%d models, %v", len(c.Models), err)
	}
	for _, r := range c.Models {
		if got := r.Forms[llm.FormFiles].Last; got != "+-+-+" {
			t.Errorf("%s: %q", r.Model, got)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".forms-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A file that cannot be understood is begun anew, which is logged.
func TestDamaged(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "nothing": "", "of another version": `{"version": 2}`, "of other types": `{"version": 1, "models": {}}`,
		"empty models": `{"version": 1, "models": [null]}`, "too long": strings.Repeat(" ", maxBytes+1),
	} {
		var log bytes.Buffer
		m := newForms(formsConfig{File: filepath.Join(t.TempDir(), "forms.json"), Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err := os.WriteFile(m.cfg.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := m.Best("m", large); got != llm.FormAuto {
			t.Errorf("%s: %q", name, got)
		}
		if told := strings.Contains(log.String(), "begins anew"); told == (name == "empty models") {
			t.Errorf("%s: logged %q", name, log.String())
		}
		m.Ended("m", large, llm.FormText, true)
		if got := m.Best("m", large); got != llm.FormText {
			t.Errorf("%s: it does not begin anew: %q", name, got)
		}
	}
}

// The models that were used longest ago go first.
func TestMaxModels(t *testing.T) {
	now, c := time.Unix(0, 0), &formContent{Version: version}
	cfg := formsConfig{Server: "s", Now: func() time.Time { now = now.Add(time.Hour); return now }}
	for i := range maxModels + 5 {
		c.take(cfg, fmt.Sprint(i), llm.Capabilities{Digest: fmt.Sprint(i)}, llm.FormText, true)
	}
	if len(c.Models) != maxModels || c.find("s", "4", "4") != nil || c.find("s", "5", "5") == nil {
		t.Errorf("%d models, the oldest %s", len(c.Models), c.Models[len(c.Models)-1].Model)
	}
}

// Where there is no place, nothing is remembered and nothing fails.
func TestNoPlace(t *testing.T) {
	m := newForms(formsConfig{})
	m.Ended("m", large, llm.FormText, true)
	if got := m.Best("m", large); got != llm.FormAuto {
		t.Errorf("%q", got)
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	newForms(formsConfig{File: filepath.Join(blocked, "forms.json")}).Ended("m", large, llm.FormText, true)
}
