package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"
)

// TestPromises: downloads are denied before any page is shown, dialogs are closed with a no, and
// windows that a page opens are closed.
func TestPromises(t *testing.T) {
	ours, theirs := net.Pipe()
	calls := make(chan message, 100)
	write := make(chan string, 100)
	go func() {
		for s := range write {
			if _, err := theirs.Write([]byte(s + "\x00")); err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(calls)
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
			calls <- m
			write <- fmt.Sprintf(`{"id":%d,"result":{"targetId":"t","sessionId":"s","frameTree":{"frame":{"id":"f"}}}}`, m.ID)
		}
	}()
	b, err := Start(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	denied := false
	for m := range calls {
		p, _ := m.Params.(map[string]any)
		denied = denied || m.Method == "Browser.setDownloadBehavior" && p["behavior"] == "deny"
		if m.Method == "Emulation.setDeviceMetricsOverride" {
			break
		}
	}
	if !denied {
		t.Error("downloads are not denied")
	}
	for _, tt := range []struct {
		event, method, key string
		want               any
	}{
		{`{"method":"Page.javascriptDialogOpening","sessionId":"s","params":{"type":"confirm","message":"Sure?"}}`, "Page.handleJavaScriptDialog", "accept", false},
		{`{"method":"Page.javascriptDialogOpening","sessionId":"s","params":{"type":"beforeunload"}}`, "Page.handleJavaScriptDialog", "accept", true},
		{`{"method":"Target.targetCreated","params":{"targetInfo":{"targetId":"w","type":"page","openerId":"t"}}}`, "Target.closeTarget", "targetId", "w"},
	} {
		write <- tt.event
		var m message
		select {
		case m = <-calls:
		case <-time.After(10 * time.Minute):
		}
		if p, _ := m.Params.(map[string]any); m.Method != tt.method || p[tt.key] != tt.want {
			t.Errorf("%s is answered with %s %v", tt.event, m.Method, m.Params)
		}
	}
	ours.Close()
	<-b.Gone()
}
