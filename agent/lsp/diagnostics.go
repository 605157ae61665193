package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// State says how far a [Diagnosis] can be relied on.
type State string

// The states of a diagnosis. Only Fresh is about the text as it is now.
const (
	Fresh    State = "fresh"    // asked for after the edit, or pushed for its version or a later one
	Settling State = "settling" // the time was up before a fresh one came
	None     State = "none"     // there is none, for the reason in Why
)

// Diagnosis is a server's opinion of one document. Unless State is Fresh, Items is empty.
type Diagnosis struct {
	State State        `json:"state"`
	Why   string       `json:"why,omitempty"`
	Items []Diagnostic `json:"items,omitempty"`
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
}

type wireDiagnostic struct {
	Range    span            `json:"range"`
	Severity int             `json:"severity"`
	Code     json.RawMessage `json:"code"`
	Source   string          `json:"source"`
	Message  string          `json:"message"`
}

// Bounds of a server's pushes.
const (
	maxPushed = 2000 // files
	maxItems  = 500  // problems of a file
)

func (c *Client) publish(params json.RawMessage) {
	var p struct {
		URI         string           `json:"uri"`
		Version     int              `json:"version"`
		Diagnostics []wireDiagnostic `json:"diagnostics"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	path := pathOf(p.URI)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.pushed[path]; path == "" || !known && len(c.pushed) >= maxPushed {
		return
	}
	c.pushed[path] = pushed{p.Version, p.Diagnostics[:min(len(p.Diagnostics), maxItems)]}
	c.wake()
}

// Diagnose returns the problems of an open document. It waits for a fresh list at most as long
// as within.
func (c *Client) Diagnose(ctx context.Context, path string, within time.Duration) Diagnosis {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		c.mu.Lock()
		d, got, pulls, changed := c.docs[path], c.pushed[path], c.pulls, c.changed
		var now document
		if d != nil {
			now = *d
		}
		c.mu.Unlock()
		switch {
		case d == nil:
			return Diagnosis{State: None, Why: "the file is not open in the language server"}
		case pulls:
			return c.ask(limited, path, now)
		case got.version >= now.version: //control:fresh-diagnostics
			return c.diagnosis(now, got.items)
		}
		select {
		case <-changed:
		case <-c.Gone():
			return Diagnosis{State: None, Why: "the language server ended"}
		case <-limited.Done():
			return Diagnosis{State: Settling, Why: "the language server has not checked this text yet"}
		}
	}
}

// ask asks for the diagnostics of a version. The answer counts only for that one.
func (c *Client) ask(ctx context.Context, path string, asked document) Diagnosis {
	var res struct {
		Kind  string           `json:"kind"`
		Items []wireDiagnostic `json:"items"`
	}
	settling := Diagnosis{State: Settling, Why: "the language server has not checked this text yet"}
	if until, ok := ctx.Deadline(); !ok || !c.Ready(ctx, time.Until(until)) {
		return settling
	}
	params := map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}}
	if err := c.call(ctx, "textDocument/diagnostic", params, &res); err != nil {
		if ctx.Err() != nil {
			return settling
		}
		return Diagnosis{State: None, Why: "the language server failed: " + brief(err.Error(), 200)}
	}
	c.mu.Lock()
	d := c.docs[path]
	same := d != nil && d.version == asked.version
	c.mu.Unlock()
	if !same || res.Kind == "unchanged" {
		return settling
	}
	return c.diagnosis(asked, res.Items[:min(len(res.Items), maxItems)])
}

// diagnosis converts a list for a text. One with places that the text does not have is about
// another text.
func (c *Client) diagnosis(d document, items []wireDiagnostic) Diagnosis {
	out := Diagnosis{State: Fresh}
	for _, i := range items {
		line, ok := LineAt(d.text, i.Range.Start.Line)
		if !ok { //control:problem-in-the-text
			return Diagnosis{State: Settling, Why: "the language server speaks of lines that the file does not have"}
		}
		out.Items = append(out.Items, Diagnostic{
			Line:     i.Range.Start.Line + 1,
			Column:   c.enc.byteAt(line, i.Range.Start.Character) + 1,
			Severity: severityOf(i.Severity),
			Code:     codeOf(i.Source, i.Code),
			Message:  brief(i.Message, 300),
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
