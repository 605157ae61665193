package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/llm/llmtest"
)

// badModel knows how a fault is mended and does it step by step: it reads, edits, runs
// the tests, ends. At a rate of its turns it makes a mistake that small models
// make instead, and some of them again until it is told what is right. It answers
// as Ollama does.
type badModel struct {
	fault exercise
	near  string // lines around it
	test  string
	rate  int // of 100 turns
	rng   *rand.Rand
	spec  llmtest.ModelSpec

	mu      sync.Mutex
	turn    int
	step    step
	sent    sent
	broken  bool // the file has a mistake of the model's own now
	again   string
	repeats int
	made    []string // mistakes so far
}

type step int

const (
	stepRead step = iota
	stepEdit
	stepTest
	stepEnd
)

// sent is what is on its way since the last answer.
type sent int

const (
	sentNothing sent = iota
	sentStep
	sentWorse // an edit that mends nothing
)

func newBadModel(f exercise, planted map[string]string, test string, rate int, seed uint64) *badModel {
	h := fnv.New64a()
	_, _ = io.WriteString(h, f.Name) // never fails
	before, _, _ := strings.Cut(planted[f.File], f.Wrong)
	at := strings.Count(before, "\n") + 1
	return &badModel{fault: f, near: fmt.Sprintf("%d-%d", max(1, at-20), at+20), test: test, rate: rate, rng: rand.New(rand.NewPCG(seed, h.Sum64())),
		spec: llmtest.ModelSpec{Name: "bad", Tools: true, Context: 32768}}
}

// request is what of a request the model goes by.
type request struct {
	last   string          // all that was said since its last answer
	offers map[string]bool // tools; none in text mode
}

// ServeHTTP implements http.Handler.
func (m *badModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	script := llmtest.Script{Model: m.spec, Turns: []llmtest.Turn{{Say: "ok"}}}
	if r.URL.Path == "/api/chat" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if h, ok := hear(body); ok {
			script.Turns = []llmtest.Turn{m.answer(h)}
		}
	}
	s, err := llmtest.New(script)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	s.Handler().ServeHTTP(w, r)
}

func hear(body []byte) (request, bool) {
	var in struct {
		Messages []struct{ Role, Content string }
		Tools    []llmtest.WireTool
	}
	if json.Unmarshal(body, &in) != nil || len(in.Messages) == 0 {
		return request{}, false
	}
	h := request{offers: map[string]bool{}}
	for _, t := range in.Tools {
		h.offers[t.Function.Name] = true
	}
	for _, msg := range in.Messages {
		if msg.Role == "assistant" {
			h.last = ""
			continue
		}
		h.last += msg.Content + "\n"
	}
	return h, true
}

// answer is the model's next turn.
func (m *badModel) answer(h request) llmtest.Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn++
	m.learn(h)
	var names []string // in the order in which they are tried: not each fits each step
	if roll := m.rng.IntN(100); m.again != "" && m.repeats < 3 && !m.told(h) {
		names = []string{m.again}
		m.repeats++
	} else if m.again, m.repeats = "", 0; roll < m.rate {
		for _, i := range m.rng.Perm(len(mistakes)) {
			names = append(names, mistakes[i].name)
		}
	}
	for _, name := range names {
		if t, ok := m.mistake(name, h); ok {
			m.made = append(m.made, fmt.Sprintf("%d:%s", m.turn, name))
			return t
		}
	}
	return m.right(h)
}

// told reports whether what the model heard names what it should do instead.
func (m *badModel) told(h request) bool {
	for _, x := range mistakes {
		if x.name == m.again {
			return x.until != "" && strings.Contains(h.last, x.until)
		}
	}
	return true
}

// learn sees whether the last step came to something.
func (m *badModel) learn(h request) {
	was := m.sent
	m.sent = sentNothing
	switch ran := strings.Contains(h.last, "[Exit code "); {
	case was == sentNothing:
	case m.step == stepRead && strings.Contains(h.last, firstLine(m.fault.Wrong)):
		m.step = stepEdit
	case m.step == stepEdit && strings.Contains(h.last, " (+"):
		m.step, m.broken = stepTest, was == sentWorse
	case m.step == stepTest && ran && m.broken:
		m.step = stepEdit // the tests say so
	case m.step == stepTest && ran:
		m.step = stepEnd
	}
}

// firstLine is the first line of a text with something in it.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// right is the turn of a model that makes no mistake.
func (m *badModel) right(h request) llmtest.Turn {
	m.sent = sentStep
	name, args := m.wanted()
	return m.call(h, name, args)
}

// wanted is the call that the step is about.
func (m *badModel) wanted() (name string, args map[string]any) {
	switch m.step {
	case stepRead:
		return "read_file", map[string]any{"path": m.fault.File, "lines": m.near}
	case stepEdit:
		return "edit_file", map[string]any{"path": m.fault.File, "old_string": m.there(), "new_string": m.fault.Right}
	case stepTest:
		return "run_terminal_command", map[string]any{"command": m.test}
	default:
		return "attempt_completion", map[string]any{"result": "The fault is mended and the tests pass."}
	}
}

// there is the text that has to go.
func (m *badModel) there() string {
	if m.broken {
		return m.worse()
	}
	return m.fault.Wrong
}

// worse is an edit that mends nothing.
func (m *badModel) worse() string { return m.fault.Wrong + m.comment() }

func (m *badModel) comment() string {
	if m.fault.Python != "" {
		return "  # mended"
	}
	return " // mended"
}

// call is a native call, or a printed one where no tools are offered.
func (m *badModel) call(h request, name string, args map[string]any) llmtest.Turn {
	return llmtest.Turn{Calls: []llmtest.Call{{Name: name, Arguments: args}}, Print: len(h.offers) == 0}
}
