package builtin

import (
	"context"
	_ "embed" // the description
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

//go:embed browser_action.md
var doc string

// Limits of one answer: bytes of all of it, about 1,500 tokens, and lines of its parts.
const (
	maxAnswer  = 5000
	maxChanges = 6
	maxEvents  = 4
	maxLine    = 120    // bytes, of all but the outline
	maxTyped   = 10_000 // bytes
	maxLabel   = 60
)

// maxRepeats is the number of equal calls that is too many: pages are long, and keys pressed often.
const maxRepeats = 30

// pages returns the tool that uses pages which servers in the workspace serve. It is announced to
// the model only if the workspace has a browser.
func pages(k *tools.Kit) []tools.Tool {
	if k.Pages == nil {
		return nil
	}
	v := &viewer{Kit: k}
	return []tools.Tool{tools.New(tools.Sheet{
		Name:    policy.BrowserTool,
		Aliases: []string{"browser", "browser_use", "use_browser"},
		Kind:    policy.Network,
		Repeats: maxRepeats,
		Untold:  k.Browser == "",
		Doc:     doc,
		Params: []tools.Param{
			{Name: "action", Required: true, Doc: "The step.", Enum: []string{
				"launch", "click", "hover", "type", "press", "scroll_down", "scroll_up", "resize", "screenshot", "close",
			}},
			{Name: "url", Doc: "For launch.", Aliases: []string{"address", "href"}},
			{Name: "ref", Form: tools.Number, Doc: "The element.", Aliases: []string{"element", "index", "number", "id"}},
			{Name: "selector", Doc: "Or its CSS selector.", Aliases: []string{"css"}},
			{Name: "coordinate", Doc: `Or a point, "x,y".`, Aliases: []string{"coordinates", "point", "position"}},
			{Name: "text", Doc: "To type, replacing a field's text, or the option of a select.",
				Aliases: []string{"value", "content"}},
			{Name: "key", Doc: "To press, such as Enter or Control+a.", Aliases: []string{"keys"}},
			{Name: "size", Doc: `For resize, "width,height".`, Aliases: []string{"viewport"}},
		},
		Example: `{"action":"launch","url":"http://localhost:3000/"}`,
	}, v.intent, v.run)}
}

// viewer is the tool.
type viewer struct {
	*tools.Kit

	mu    sync.Mutex
	shown map[int]string // elements of the last outline
}

var pairForm = pattern.Lazy(`^\s*[\[(]?\s*(\d{1,5})(?:\.\d+)?\s*[,x×; ]\s*(\d{1,5})(?:\.\d+)?\s*[\])]?\s*$`)

// pair reads an argument of two numbers, nil if it is absent.
func pair(a tools.Args, name string) (*workspace.PagePoint, error) {
	s, err := a.Text(name)
	if err != nil || strings.TrimSpace(s) == "" {
		return nil, err
	}
	m := pairForm().FindStringSubmatch(s)
	if m == nil {
		return nil, a.WrongType(name, `two numbers such as "450,300"`)
	}
	x, errX := strconv.Atoi(m[1])
	y, errY := strconv.Atoi(m[2])
	return &workspace.PagePoint{X: x, Y: y}, errors.Join(errX, errY)
}

// step reads the arguments of a call.
func (v *viewer) step(a tools.Args) (s workspace.PageStep, err error) {
	action, err := a.Need("action")
	if err != nil {
		return s, err
	}
	s.Action = workspace.PageAction(strings.ToLower(strings.TrimSpace(action)))
	text := func(name string) (out string) {
		if err == nil {
			out, err = a.Text(name)
		}
		return out
	}
	s.URL, s.Selector, s.Text = strings.TrimSpace(text("url")), strings.TrimSpace(text("selector")), text("text")
	key := text("key")
	if err == nil {
		s.Ref, err = a.Number("ref", 0)
	}
	if err == nil {
		s.Point, err = pair(a, "coordinate")
	}
	if err != nil {
		return s, err
	}
	if s.Ref > 0 {
		s.Selector = ""
	}
	if s.Ref > 0 || s.Selector != "" {
		s.Point = nil
	}
	somewhere := s.Ref > 0 || s.Selector != "" || s.Point != nil
	switch s.Action {
	case workspace.PageLaunch:
		s.Picture = true
		if s.URL == "" {
			return s, a.Wrong("missing argument %q", "url")
		}
	case workspace.PageClick, workspace.PageHover:
		if !somewhere {
			return s, a.Wrong("argument %q says what to %s", "ref", s.Action)
		}
	case workspace.PageType:
		if !a.Has("text") || len(s.Text) > maxTyped {
			return s, a.Wrong("argument %q is the text to type, at most %d bytes", "text", maxTyped)
		}
	case workspace.PagePress:
		if s.Text = key; key == "" {
			s.Text = text("text")
		}
		if s.Text == "" {
			return s, a.Wrong("missing argument %q", "key")
		}
	case workspace.PageResize:
		size, err := pair(a, "size")
		if size != nil {
			s.Point = size
		}
		if err != nil || s.Point == nil {
			return s, errors.Join(err, a.Wrong("argument %q is the size, such as \"390,800\"", "size"))
		}
	case workspace.PageScreenshot, workspace.PageClose:
		s.Picture = true
	case workspace.PageScrollDown, workspace.PageScrollUp:
	default:
		return s, a.Wrong("there is no action %q", action)
	}
	return s, nil
}

// open is the URL of a step on the page that is open, which the workspace serves like any.
const open = "http://localhost/"

func (v *viewer) intent(_ context.Context, a tools.Args) (policy.Action, error) {
	s, err := v.step(a)
	if err != nil {
		return policy.Action{}, err
	}
	url := open
	if s.Action == workspace.PageLaunch {
		url = s.URL
	}
	begins, _ := words(s, element(s))
	return policy.Action{Kind: policy.Network, URL: url, Display: begins}, nil
}

// words describe a step that begins, and the same when it has ended. at is its element, by
// the page or by the call; "" if it has none.
func words(s workspace.PageStep, at string) (begins, ended string) {
	into, there := "", ""
	if at != "" {
		into, there = " into "+at, " "+at
	}
	switch s.Action {
	case workspace.PageLaunch:
		return "Opening " + s.URL, "Opened " + s.URL
	case workspace.PageClick:
		return "Clicking" + there, "Clicked" + there
	case workspace.PageHover:
		return "Pointing at" + there, "Pointed at" + there
	case workspace.PageType:
		return "Typing " + strconv.Quote(s.Text) + into, "Typed" + into
	case workspace.PagePress:
		return "Pressing " + strconv.Quote(s.Text), "Pressed " + tools.Shorten(s.Text, maxLabel)
	case workspace.PageScrollDown:
		return "Scrolling down" + there, "Scrolled down" + there
	case workspace.PageScrollUp:
		return "Scrolling up" + there, "Scrolled up" + there
	case workspace.PageResize:
		return "Resizing the window to" + there, "Resized the window to" + there
	case workspace.PageClose:
		return "Closing the browser", "Closed the browser"
	}
	return "Taking a picture of the page", "Took a picture of the page"
}

// element names the element of a step, "" if it has none.
func element(s workspace.PageStep) string {
	switch {
	case s.Ref > 0:
		return fmt.Sprintf("[%d]", s.Ref)
	case s.Selector != "":
		return s.Selector
	case s.Point != nil:
		return fmt.Sprintf("%d,%d", s.Point.X, s.Point.Y)
	}
	return ""
}

func (v *viewer) run(ctx context.Context, a tools.Args, _ tools.Progress) (tools.Result, error) {
	s, err := v.step(a)
	if err != nil {
		return tools.Result{}, err
	}
	if v.Browser == "" {
		return tools.Result{}, errors.New("there is no browser in this workspace: its image needs Chromium, " +
			"such as Debian's package chromium-headless-shell. Go on without one, and say so at the end")
	}
	title := v.title(s)
	view, err := v.Pages.Page(ctx, s)
	if err != nil {
		return tools.Result{}, err
	}
	res := tools.Result{Title: title, Content: v.answer(ctx, s, view)}
	if kind := http.DetectContentType(view.Picture); strings.HasPrefix(kind, "image/") {
		name := "page." + strings.TrimPrefix(kind, "image/")
		res.Images = []session.Blob{{Name: name, Type: kind, Data: view.Picture}}
	}
	return res, nil
}

// title describes a step for readers of the thread, by the words of the page.
func (v *viewer) title(s workspace.PageStep) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := element(s)
	if label := v.shown[s.Ref]; label != "" {
		at = tools.Shorten(label, maxLabel)
	}
	_, ended := words(s, at)
	return ended
}

var refForm = pattern.Lazy(`^\[(\d+)\] (.*)`)

// answer returns the page for the model.
func (v *viewer) answer(ctx context.Context, s workspace.PageStep, view workspace.PageView) string {
	if s.Action == workspace.PageClose {
		return "The browser is closed."
	}
	v.mu.Lock()
	v.shown = map[int]string{}
	for _, l := range view.Outline {
		if m := refForm().FindStringSubmatch(l); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				v.shown[n] = m[2]
			}
		}
	}
	v.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "Page: %s\nURL: %s\n", tools.Shorten(view.Title, maxLine), tools.Shorten(view.URL, maxLine))
	part(&b, "", "", view.Notes, maxEvents)
	part(&b, "Console", "", view.Console, maxEvents)
	part(&b, "Failed requests", "", view.Failed, maxEvents)
	if view.Left > 0 {
		fmt.Fprintf(&b, "(%d more of these)\n", view.Left)
	}
	switch {
	case !view.Same:
	case len(view.Gone)+len(view.New) == 0:
		b.WriteString("The outline has not changed since the last step.\n")
	default:
		part(&b, "Gone since the last step", "- ", view.Gone, maxChanges)
		part(&b, "New since the last step", "+ ", view.New, maxChanges)
	}
	b.WriteString("In the window:\n")
	if view.Above > 0 {
		fmt.Fprintf(&b, "(%d more above; scroll_up)\n", view.Above)
	}
	room, more := tools.Room(ctx, maxAnswer)-b.Len(), view.Below
	for i, l := range view.Outline {
		if room -= len(l) + 1; room < 0 { //control:browser-outline-size
			more += len(view.Outline) - i
			break
		}
		b.WriteString(l + "\n")
	}
	if len(view.Outline) == 0 {
		b.WriteString("(nothing: the page is blank here)\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "(%d more below; scroll_down)\n", more)
	}
	said := strings.TrimSuffix(b.String(), "\n")
	return untrusted.Fence(v.Nonce, "a page", said) //control:browser-fenced
}

// part writes a list with a limit.
func part(b *strings.Builder, name, mark string, list []string, limit int) {
	if len(list) == 0 {
		return
	}
	if name != "" {
		fmt.Fprintf(b, "%s:\n", name)
	}
	for i, l := range list {
		if i == limit {
			fmt.Fprintf(b, "(%d more)\n", len(list)-i)
			return
		}
		fmt.Fprintf(b, "%s%s\n", mark, tools.Shorten(l, maxLine))
	}
}
