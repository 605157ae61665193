package browser

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/policy/reach"
)

// happened are the parameters of all events that matter here.
type happened struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	URL       string `json:"url"`
	FrameID   string `json:"frameId"`
	RequestID string `json:"requestId"`
	ErrorText string `json:"errorText"`
	Canceled  bool   `json:"canceled"`
	Name      string `json:"suggestedFilename"`
	Request   struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	} `json:"request"`
	Response struct {
		URL    string `json:"url"`
		Status int    `json:"status"`
	} `json:"response"`
	Args      []remote `json:"args"`
	Exception struct {
		Text  string `json:"text"`
		URL   string `json:"url"`
		Line  int    `json:"lineNumber"`
		Value remote `json:"exception"`
	} `json:"exceptionDetails"`
	Entry struct {
		Level  string `json:"level"`
		Source string `json:"source"`
		Text   string `json:"text"`
		URL    string `json:"url"`
	} `json:"entry"`
	Target struct {
		ID     string `json:"targetId"`
		Type   string `json:"type"`
		Opener string `json:"openerId"`
	} `json:"targetInfo"`
}

// event takes an event of the browser.
func (b *Browser) event(method, session string, params json.RawMessage) {
	var e happened
	if json.Unmarshal(params, &e) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.changed()
	if session == "" {
		b.browserEvent(method, e)
		return
	}
	if session != b.session {
		return
	}
	if strings.HasPrefix(method, "Network.") {
		b.networkEvent(method, e)
		return
	}
	switch method {
	case "Page.javascriptDialogOpening":
		b.add(&b.view.Notes, "The page showed a dialog (%s), which was closed: %s", e.Type, e.Message)
		// Leaving a page is not a question to the model.
		b.reply(session, "Page.handleJavaScriptDialog", object{"accept": e.Type == "beforeunload"}) //control:browser-dialogs
	case "Page.fileChooserOpened":
		b.add(&b.view.Notes, "The page asked for a file; that is not possible here.")
	case "Page.frameStartedLoading", "Page.frameStoppedLoading":
		if e.FrameID == b.frame {
			b.loading = method == "Page.frameStartedLoading"
		}
	case "Page.windowOpen":
		b.open = e.URL
	case "Inspector.targetCrashed":
		b.crashed = true
	case "Runtime.consoleAPICalled":
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			said := make([]string, 0, len(e.Args))
			for _, a := range e.Args {
				said = append(said, a.String())
			}
			b.add(&b.view.Console, "%s: %s", e.Type, strings.Join(said, " "))
		}
	case "Runtime.exceptionThrown":
		text := e.Exception.Value.String()
		if e.Exception.Value.Type == "" {
			text = e.Exception.Text
		}
		b.add(&b.view.Console, "uncaught: %s (%s:%d)", text, inPage(e.Exception.URL), e.Exception.Line+1)
	case "Log.entryAdded":
		if e.Entry.Level == "error" && e.Entry.Source != "network" {
			b.add(&b.view.Console, "%s: %s %s", e.Entry.Source, e.Entry.Text, inPage(e.Entry.URL))
		}
	}
}

func (b *Browser) browserEvent(method string, e happened) {
	switch {
	case method == "Browser.downloadWillBegin":
		b.add(&b.view.Notes, "The page offered the download %s, which was refused.", e.Name)
	case method == "Target.targetCreated" && e.Target.Type == "page" && e.Target.Opener == b.target && b.target != "":
		b.reply("", "Target.closeTarget", object{"targetId": e.Target.ID}) //control:browser-one-page
	}
}

func (b *Browser) networkEvent(method string, e happened) {
	switch method {
	case "Network.requestWillBeSent":
		if e.Type != "EventSource" && e.Type != "Ping" && len(b.pending) < maxPending {
			b.pending[e.RequestID] = line(e.Request.Method + " " + inPage(e.Request.URL))
		}
	case "Network.responseReceived":
		if e.Response.Status >= 400 {
			b.add(&b.view.Failed, "%d %s", e.Response.Status, b.requested(e.RequestID, e.Response.URL))
		}
		return
	case "Network.loadingFailed":
		if !e.Canceled {
			b.add(&b.view.Failed, "%s %s", e.ErrorText, b.requested(e.RequestID, ""))
		}
		delete(b.pending, e.RequestID)
	case "Network.loadingFinished":
		delete(b.pending, e.RequestID)
	default:
		return
	}
	b.quiet = time.Now()
}

func (b *Browser) requested(id, address string) string {
	if r, ok := b.pending[id]; ok {
		return r
	}
	return inPage(address)
}

// inPage shortens an address of a loopback server to the part that differs.
func inPage(address string) string {
	if strings.HasPrefix(address, "data:") {
		return "data:…"
	}
	address = address[:min(len(address), 4*maxText)]
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if _, err := reach.Loopback(address); err == nil && u.Host != "" {
		return u.RequestURI()
	}
	return address
}
