package acp

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
)

type pipe struct{ io.Reader }

func (pipe) Write(b []byte) (int, error) { return len(b), nil }
func (pipe) Close() error                { return nil }

// One message is one line. Words between messages are skipped, and a line without an end is
// not collected.
func TestLines(t *testing.T) {
	f := newFrames(pipe{strings.NewReader("hello\n\n{\"a\":1}\n{\"a\":\"" + strings.Repeat("x", maxMessage))})
	var v struct{ A json.RawMessage }
	if err := f.ReadObject(&v); err != nil || string(v.A) != "1" {
		t.Error(err, string(v.A))
	}
	if err := f.ReadObject(&v); !errors.Is(err, errLong) {
		t.Error(err)
	}
}

// An agent that reads nothing is ended.
func TestDeafAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		if err := newFrames(near).WriteObject("a word"); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
		if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}

// A later message has only what changed.
func TestUpdates(t *testing.T) {
	var c Call
	for _, line := range []string{
		`{"sessionUpdate":"tool_call","toolCallId":"1","title":"Edit","kind":"edit","rawInput":{"p":1},"locations":[{"path":"/a"}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","rawInput":null,"content":[{"type":"diff","path":"/a","oldText":null,"newText":"x"}]}`,
	} {
		var u Update
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			t.Fatal(err)
		}
		c = c.Merge(u.Call)
	}
	if c.Title != "Edit" || c.Status != "completed" || string(c.Input) != `{"p":1}` || len(c.Locations) != 1 || len(c.Content) != 1 || c.Content[0].New != "x" {
		t.Errorf("%+v", c)
	}
	var u Update
	if err := json.Unmarshal([]byte(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}`), &u); err != nil || u.Text() != "hi" {
		t.Error(err, u.Text())
	}
}

// An option is chosen by its kind, and only if no other one has it.
func TestOnly(t *testing.T) {
	p := Permission{Options: []PermOption{{ID: "1", Kind: "allow_always"}, {ID: "2", Kind: AllowOnce}, {ID: "3", Kind: RejectOnce}, {ID: "4", Kind: RejectOnce}}}
	if id, ok := p.Only(AllowOnce); id != "2" || !ok {
		t.Error(id, ok)
	}
	if id, ok := p.Only(RejectOnce); ok {
		t.Error(id)
	}
}
