package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// State says how far a [Diagnosis] can be relied on.
type State string

// The states of a diagnosis. Only Fresh is about the text as it is now.
const (
	Fresh    State = "fresh"    // asked for after the last change of any file, or pushed for a version sent after it
	Settling State = "settling" // the time was up before a fresh one came
	None     State = "none"     // there is none, for the reason in Why
)

// Diagnosis is a server's opinion of one document. Unless State is Fresh, Items is empty.
type Diagnosis struct {
	State State        `json:"state"`
	Why   string       `json:"why,omitempty"`
	Items []Diagnostic `json:"items,omitempty"`
	Left  int          `json:"left,omitempty"` // problems beyond the maximum, none of them worse
}

// Diagnostic is one problem. Line and Column are 1-based; Column counts bytes.
type Diagnostic struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity int    `json:"severity"` // 1 error, 2 warning, 3 information, 4 hint
	Code     string `json:"code,omitempty"`
	Message  string `json:"message"`
}

// pushed is the last list that the server sent for a file. Version is 0 if it named none.
type pushed struct {
	version int
	items   []wireDiagnostic
	left    int // that are not in items
}

// kept returns at most [maxItems] problems of a list, the worst ones, and the number of the others. Their texts are
// cut: a server may send long ones for each open file.
func kept(list []wireDiagnostic) (out pushed) {
	if out.items = list; len(list) > maxItems {
		slices.SortStableFunc(list, func(a, b wireDiagnostic) int { return severityOf(a.Severity) - severityOf(b.Severity) })
		out.items, out.left = slices.Clone(list[:maxItems]), len(list)-maxItems
	}
	for i := range out.items {
		d := &out.items[i]
		d.Message, d.Source = brief(d.Message, 300), brief(d.Source, 60) //control:long-problems-are-cut
		if len(d.Code) > 60 {
			d.Code = nil
		}
	}
	return out
}

// isList reports whether each problem of a list has its place. A list with null in it is none.
func isList(list []wireDiagnostic) bool {
	return list != nil && !slices.ContainsFunc(list, func(d wireDiagnostic) bool { return d.Range == nil })
}

type wireDiagnostic struct {
	Range    *span           `json:"range"`
	Severity int             `json:"severity"`
	Code     json.RawMessage `json:"code"`
	Source   string          `json:"source"`
	Message  string          `json:"message"`
}

// maxItems is the maximum number of problems of a file.
const maxItems = 500

func (c *Client) publish(params json.RawMessage) {
	var p struct {
		URI         string           `json:"uri"`
		Version     int              `json:"version"`
		Diagnostics []wireDiagnostic `json:"diagnostics"`
	}
	if json.Unmarshal(params, &p) != nil || !isList(p.Diagnostics) { //control:nothing-is-no-list
		return
	}
	path := pathOf(p.URI)
	c.mu.Lock()
	defer c.mu.Unlock()
	d, open := c.docs[path]
	if !open { //control:no-list-before-opening
		return
	}
	if last := c.pushed[path]; open && p.Version != 0 && (p.Version < last.version || p.Version > d.version) { //control:lists-in-order
		return // it comes late, and a later one is here
	}
	list := kept(p.Diagnostics)
	list.version = p.Version
	c.pushed[path] = list
	c.wake()
}

// Diagnose returns the problems of an open document. It waits for a fresh list at most as long
// as within.
func (c *Client) Diagnose(ctx context.Context, path string, within time.Duration) Diagnosis {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	settling := Diagnosis{State: Settling, Why: "the language server has not checked this text yet"}
	idle := false // it has ended its work since the last list came
	for limited.Err() == nil {
		c.mu.Lock()
		d, got, changed, at := c.docs[path], c.pushed[path], c.changed, c.time
		voided := c.voided
		asks := c.pulls || c.cfg.Server.TSServer != ""
		var now document
		if d != nil {
			now = *d
		}
		c.mu.Unlock()
		switch {
		case d == nil:
			return Diagnosis{State: None, Why: "the file is not open in the language server"}
		case asks:
			items, err := c.ask(limited, path)
			c.mu.Lock()
			still := c.time == at && c.voided == voided
			c.mu.Unlock()
			switch {
			case limited.Err() != nil || errors.Is(err, errUnchanged):
				return settling
			case err != nil:
				return Diagnosis{State: None, Why: "the language server failed: " + brief(err.Error(), 200)}
			case still: //control:fresh-answer
				return c.diagnosis(now, kept(items))
			}
			continue
		case now.at != at: //control:fresh-of-all-files
			if c.renew(limited, path) != nil {
				return Diagnosis{State: None, Why: "the language server ended"}
			}
			continue
		case got.version < now.version: //control:fresh-diagnostics
		case !idle: //control:drafts-are-not-shown
			if idle = c.Ready(limited, within); idle {
				continue
			}
		default:
			return c.diagnosis(now, got)
		}
		idle = false
		select {
		case <-changed:
		case <-c.Gone():
			return Diagnosis{State: None, Why: "the language server ended"}
		case <-limited.Done():
		}
	}
	return settling
}

// errUnchanged means that the server gave no list, but named one of before.
var errUnchanged = errors.New("the list is said to be unchanged")

// ask asks for the diagnostics of a document.
func (c *Client) ask(ctx context.Context, path string) ([]wireDiagnostic, error) {
	if until, ok := ctx.Deadline(); !ok || !c.Ready(ctx, time.Until(until)) {
		return nil, ErrSilent
	}
	if c.cfg.Server.TSServer != "" {
		return c.askTSServer(ctx, path)
	}
	var res struct {
		Kind  string           `json:"kind"`
		Items []wireDiagnostic `json:"items"`
	}
	params := map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}}
	if err := c.call(ctx, "textDocument/diagnostic", params, &res); err != nil {
		return nil, err
	}
	if res.Kind == "unchanged" {
		return nil, errUnchanged
	}
	// The kind is not looked at: gopls names none.
	if !isList(res.Items) { //control:null-is-no-list
		return nil, errors.New("it gave no list")
	}
	return res.Items, nil
}

// diagnosis converts a list for a text. One with places that the text does not have is about
// another text.
func (c *Client) diagnosis(d document, list pushed) Diagnosis {
	if OddLines(d.text) { //control:no-problems-in-odd-lines
		return Diagnosis{State: None, Why: "the file has ends of lines that not all programs take as such"}
	}
	out := Diagnosis{State: Fresh, Left: list.left}
	for _, i := range list.items {
		line, ok := LineAt(d.text, i.Range.Start.Line)
		if !ok { //control:problem-in-the-text
			return Diagnosis{State: Settling, Why: "the language server speaks of lines that the file does not have"}
		}
		out.Items = append(out.Items, Diagnostic{
			Line:     i.Range.Start.Line + 1,
			Column:   c.enc.byteAt(line, i.Range.Start.Character) + 1,
			Severity: severityOf(i.Severity),
			Code:     codeOf(i.Source, i.Code),
			Message:  i.Message,
		})
	}
	slices.SortStableFunc(out.Items, func(a, b Diagnostic) int {
		if a.Severity != b.Severity {
			return a.Severity - b.Severity
		}
		return a.Line - b.Line
	})
	return out
}

func severityOf(n int) int {
	if n < 1 || n > 4 {
		return 1 // the protocol leaves it to the client
	}
	return n
}

// codeOf returns the code of a problem, with its source in front if it is a plain number.
func codeOf(source string, raw json.RawMessage) string {
	code := strings.Trim(string(raw), `"`)
	switch {
	case code == "" || code == "null" || strings.ContainsAny(code, "{[\\"):
		return ""
	case source == "typescript":
		return "TS" + brief(code, 60)
	}
	return brief(code, 60)
}

// brief returns a text as one line of at most n bytes.
func brief(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}
