package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
)

// peer is a browser that answers each call with what it is given.
func peer(t *testing.T, answer func(method string, id int) string) *conn {
	t.Helper()
	ours, theirs := net.Pipe()
	c := &conn{pipe: ours, gone: make(chan struct{}), waiting: map[int]chan message{}, events: func(string, string, json.RawMessage) {}}
	go c.read()
	go func() {
		defer theirs.Close()
		in := bufio.NewReader(theirs)
		for {
			data, err := readMessage(in)
			if err != nil {
				return
			}
			var m message
			if json.Unmarshal(data, &m) != nil {
				return
			}
			if _, err := theirs.Write([]byte(answer(m.Method, m.ID))); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		ours.Close()
		<-c.gone
	})
	return c
}

// TestHostileBrowser: a browser that a page has taken over is given up, and costs a limited amount
// of memory.
func TestHostileBrowser(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		want   error
	}{
		"too long":  {`{"id":1,"result":{"id":"` + strings.Repeat("a", maxMessage) + `"}}` + "\x00", ErrGone},
		"no JSON":   {"{\x00", ErrGone},
		"an error":  {`{"id":1,"error":{"message":"no"}}` + "\x00", nil},
		"no result": {`{"id":1,"result":"a"}` + "\x00", nil},
	} {
		c := peer(t, func(string, int) string { return tt.answer })
		var got struct{ ID string }
		err := c.call(t.Context(), "", "Page.navigate", nil, &got)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBounds: a page that says without end fills no memory.
func TestBounds(t *testing.T) {
	b := &Browser{session: "s", news: make(chan struct{}), pending: map[string]string{}}
	long := strings.Repeat("é", 5000)
	for i := range 300 {
		for method, params := range map[string]any{
			"Runtime.consoleAPICalled":  object{"type": "error", "args": []object{{"type": "string", "value": string(rune('a'+i%26)) + long}}},
			"Network.requestWillBeSent": object{"requestId": string(rune(i + 1000)), "request": object{"url": "http://localhost/" + long}},
			"Network.responseReceived":  object{"requestId": "x", "response": object{"status": 404, "url": string(rune('a'+i%26)) + long}},
		} {
			data, err := json.Marshal(params)
			if err != nil {
				t.Fatal(err)
			}
			b.event(method, "s", data)
		}
	}
	if len(b.view.Console) != maxEvents || len(b.view.Failed) != maxEvents || len(b.pending) != maxPending || b.view.Left == 0 {
		t.Errorf("%d messages, %d requests that failed, %d that run, %d left out",
			len(b.view.Console), len(b.view.Failed), len(b.pending), b.view.Left)
	}
	for _, l := range append(b.view.Console, b.view.Failed...) {
		if len(l) > maxText+len("…") {
			t.Errorf("a message of %d bytes", len(l))
		}
	}
	for _, r := range b.pending {
		if len(r) > maxText+len("GET …") {
			t.Errorf("a request of %d bytes", len(r))
		}
	}
}

// TestKeys: keys are known as models write them.
func TestKeys(t *testing.T) {
	for given, want := range map[string]struct {
		name      string
		modifiers int
		text      string
	}{
		"Enter": {"Enter", 0, "\r"}, "return": {"Enter", 0, "\r"}, "esc": {"Escape", 0, ""}, "a": {"a", 0, "a"},
		"Control+a": {"a", 2, ""}, "ctrl+shift+ArrowDown": {"ArrowDown", 10, ""}, "Shift+Tab": {"Tab", 8, ""},
		"+": {"+", 0, "+"}, "Control++": {"+", 2, ""}, " ": {" ", 0, " "}, "Space": {" ", 0, " "}, "é": {"é", 0, "é"},
		"Hyper+a": {}, "hello": {}, "": {},
	} {
		k, modifiers, err := parseKey(given)
		if (err == nil) != (want.name != "") || k.name != want.name || modifiers != want.modifiers || k.text != want.text {
			t.Errorf("%q: %+v with %d, %v", given, k, modifiers, err)
		}
	}
}
