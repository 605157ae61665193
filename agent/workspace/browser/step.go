package browser

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy/reach"
)

// Time limits: until a page has loaded, until it is quiet after another action, without requests
// until that is so, and until a script of the page must let the browser answer.
const (
	loadTime   = 15 * time.Second
	settleTime = 5 * time.Second
	quietTime  = 300 * time.Millisecond
	scriptTime = 10 * time.Second
	portTime   = 15 * time.Second
	portEvery  = 100 * time.Millisecond
)

//go:embed outline.js
var outlineScript string

// maxPicture is the size in bytes of a picture above which it is made smaller by losing detail.
const maxPicture = 300 << 10

// Step carries out a step and returns the page after it. An error of the step leaves the page as it is.
func (b *Browser) Step(ctx context.Context, s workspace.PageStep) (workspace.PageView, error) {
	b.step.Lock()
	defer b.step.Unlock()
	if err := b.act(ctx, s); err != nil {
		return workspace.PageView{}, b.explain(err)
	}
	wait := settleTime
	if s.Action == workspace.PageLaunch {
		wait = loadTime
	}
	if err := b.settle(ctx, wait); err != nil {
		return workspace.PageView{}, b.explain(err)
	}
	if err := b.follow(ctx); err != nil {
		return workspace.PageView{}, b.explain(err)
	}
	v, err := b.look(ctx, s.Picture)
	return v, b.explain(err)
}

// explain gives the reason of an error that others follow from.
func (b *Browser) explain(err error) error {
	b.mu.Lock()
	crashed := b.crashed
	b.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case crashed:
		return ErrCrashed
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the page does not answer, perhaps because of an endless loop in a script: %w", err)
	}
	return err
}

func (b *Browser) act(ctx context.Context, s workspace.PageStep) error {
	switch s.Action {
	case workspace.PageLaunch:
		return b.navigate(ctx, s.URL)
	case workspace.PageClick, workspace.PageHover:
		return b.click(ctx, s)
	case workspace.PageType:
		return b.write(ctx, s)
	case workspace.PagePress:
		return b.press(ctx, s.Text)
	case workspace.PageScrollDown, workspace.PageScrollUp:
		return b.scroll(ctx, s)
	case workspace.PageResize:
		if s.Point == nil {
			return errors.New("resize needs a size")
		}
		return b.resize(ctx, min(max(s.Point.X, workspace.MinPageWidth), workspace.PageWidth),
			min(max(s.Point.Y, workspace.MinPageHeight), workspace.PageHeight))
	case workspace.PageScreenshot:
		return nil
	}
	return fmt.Errorf("unknown action %q", s.Action)
}

// navigate opens a page, once a server listens.
func (b *Browser) navigate(ctx context.Context, address string) error {
	u, err := reach.Loopback(address)
	if err != nil {
		return err
	}
	if err := waitForPort(ctx, u); err != nil {
		return err
	}
	b.mu.Lock()
	b.loading, b.previous = true, nil
	b.mu.Unlock()
	var got struct {
		Error  string `json:"errorText"`
		Loader string `json:"loaderId"` // "" within the same document
	}
	within, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	if err := b.call(within, b.session, "Page.navigate", object{"url": u.String()}, &got); err != nil {
		if within.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("the server has not answered the request of %s for %s", u, loadTime)
		}
		return err
	}
	if got.Error != "" && got.Error != "net::ERR_HTTP_RESPONSE_CODE_FAILURE" {
		return fmt.Errorf("%s cannot be opened: %s", u, got.Error)
	}
	if got.Loader == "" {
		b.mu.Lock()
		b.loading = false
		b.mu.Unlock()
	}
	return nil
}

// waitForPort waits until the server of a page listens.
func waitForPort(ctx context.Context, u *url.URL) error {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	hosts := []string{u.Hostname()}
	if hosts[0] != "127.0.0.1" && hosts[0] != "::1" {
		hosts = []string{"127.0.0.1", "::1"}
	}
	within, cancel := context.WithTimeout(ctx, portTime)
	defer cancel()
	tick := time.NewTicker(portEvery)
	defer tick.Stop()
	for {
		for _, h := range hosts {
			c, err := (&net.Dialer{Timeout: time.Second}).DialContext(within, "tcp", net.JoinHostPort(h, port))
			if err == nil {
				return c.Close()
			}
		}
		select {
		case <-within.Done():
			if err := ctx.Err(); err != nil {
				return err
			}
			return fmt.Errorf("no server listens on port %s after %s; start it in the background first, or look at its output",
				port, portTime)
		case <-tick.C:
		}
	}
}

// target is the place of an element.
type target struct {
	X, Y   float64
	Cover  string
	Why    string
	Select bool
	File   bool
	Typed  bool
}

// evaluate runs a function of the outline's script.
func (b *Browser) evaluate(ctx context.Context, result any, function string, args ...any) error {
	within, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	var world struct {
		ID int `json:"executionContextId"`
	}
	err := b.call(within, b.session, "Page.createIsolatedWorld",
		object{"frameId": b.frame, "worldName": "handrail"}, &world)
	if err != nil {
		return err
	}
	data, err := json.Marshal(append([]any{}, args...))
	if err != nil {
		return err
	}
	script := outlineScript + ";globalThis.handrail." + function + "(..." + string(data) + ")"
	var got struct {
		Result    remote `json:"result"`
		Exception *struct {
			Text  string `json:"text"`
			Value remote `json:"exception"`
		} `json:"exceptionDetails"`
	}
	err = b.call(within, b.session, "Runtime.evaluate",
		object{"expression": script, "contextId": world.ID, "returnByValue": true, "awaitPromise": true}, &got)
	switch {
	case err != nil:
		return err
	case got.Exception != nil:
		return fmt.Errorf("look at the page: %s %s", got.Exception.Text, line(got.Exception.Value.String()))
	case result == nil || got.Result.Value == nil:
		return nil
	}
	return json.Unmarshal(got.Result.Value, result)
}

// find returns the place of the element that a step names.
func (b *Browser) find(ctx context.Context, s workspace.PageStep) (t target, err error) {
	if s.Point != nil {
		return target{X: float64(s.Point.X), Y: float64(s.Point.Y)}, nil
	}
	if err := b.evaluate(ctx, &t, "point", s.Ref, s.Selector); err != nil {
		return t, err
	}
	if t.Why != "" {
		name := s.Selector
		if s.Ref > 0 {
			name = fmt.Sprintf("[%d]", s.Ref)
		}
		return t, fmt.Errorf("%s: %s", name, t.Why)
	}
	return t, nil
}

func (b *Browser) mouse(ctx context.Context, kind string, t target, more object) error {
	p := object{"type": kind, "x": t.X, "y": t.Y}
	for k, v := range more {
		p[k] = v
	}
	within, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	return b.call(within, b.session, "Input.dispatchMouseEvent", p, nil)
}

func (b *Browser) click(ctx context.Context, s workspace.PageStep) error {
	t, err := b.find(ctx, s)
	if err != nil {
		return err
	}
	if t.Select && s.Action == workspace.PageClick {
		return errors.New(`a select is set with action "type" and the text of an option`)
	}
	if err := b.mouse(ctx, "mouseMoved", t, nil); err != nil || s.Action == workspace.PageHover {
		return err
	}
	press := object{"button": "left", "clickCount": 1}
	if err := b.mouse(ctx, "mousePressed", t, press); err != nil {
		return err
	}
	if err := b.mouse(ctx, "mouseReleased", t, press); err != nil {
		return err
	}
	if t.Cover != "" {
		b.mu.Lock()
		b.add(&b.view.Notes, "The element is covered by %s, which got the click.", t.Cover)
		b.mu.Unlock()
	}
	return nil
}

// write replaces the text of a field, or types where the focus is.
func (b *Browser) write(ctx context.Context, s workspace.PageStep) error {
	if s.Ref > 0 || s.Selector != "" || s.Point != nil {
		t, err := b.find(ctx, s)
		switch {
		case err != nil:
			return err
		case t.File:
			return errors.New("files cannot be chosen here")
		case t.Select:
			var why string
			if err := b.evaluate(ctx, &why, "choose", s.Ref, s.Selector, s.Text); err != nil || why == "" {
				return err
			}
			return errors.New(why)
		case s.Point == nil && !t.Typed:
			return errors.New("the element takes no text")
		}
		click := s
		click.Action = workspace.PageClick
		if err := b.click(ctx, click); err != nil {
			return err
		}
		if s.Point == nil {
			if err := b.evaluate(ctx, nil, "focus", s.Ref, s.Selector); err != nil {
				return err
			}
		}
	}
	within, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	return b.call(within, b.session, "Input.insertText", object{"text": s.Text}, nil)
}

func (b *Browser) press(ctx context.Context, name string) error {
	k, modifiers, err := parseKey(name)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	p := object{
		"type": "rawKeyDown", "key": k.name, "code": k.code, "windowsVirtualKeyCode": k.number, "modifiers": modifiers,
	}
	if k.text != "" {
		p["type"], p["text"] = "keyDown", k.text
	}
	if modifiers&2 != 0 && k.code == "KeyA" { // the browser leaves it to its window
		p["commands"] = []string{"selectAll"}
	}
	if err := b.call(within, b.session, "Input.dispatchKeyEvent", p, nil); err != nil {
		return err
	}
	delete(p, "text")
	delete(p, "commands")
	p["type"] = "keyUp"
	return b.call(within, b.session, "Input.dispatchKeyEvent", p, nil)
}

// scroll moves the page by most of its height, or the area under an element.
func (b *Browser) scroll(ctx context.Context, s workspace.PageStep) error {
	t := target{X: workspace.PageWidth / 2, Y: workspace.PageHeight / 2}
	var size struct{ Width, Height float64 }
	if err := b.evaluate(ctx, &size, "size"); err != nil {
		return err
	}
	t.X, t.Y = size.Width/2, size.Height/2
	if s.Ref > 0 || s.Selector != "" || s.Point != nil {
		var err error
		if t, err = b.find(ctx, s); err != nil {
			return err
		}
	}
	by := size.Height * 0.8
	if s.Action == workspace.PageScrollUp {
		by = -by
	}
	return b.mouse(ctx, "mouseWheel", t, object{"deltaX": 0, "deltaY": by})
}

// settle waits until the page has loaded and is quiet, at most for the given time.
func (b *Browser) settle(ctx context.Context, most time.Duration) error {
	end := time.NewTimer(most)
	defer end.Stop()
	began := time.Now()
	for over := false; !over; {
		b.mu.Lock()
		news, loading, pending, quiet := b.news, b.loading, len(b.pending), b.quiet
		b.mu.Unlock()
		if quiet.Before(began) {
			quiet = began
		}
		rest := quietTime - time.Since(quiet)
		if !loading && pending == 0 && rest <= 0 {
			break
		}
		if loading || pending > 0 {
			rest = most
		}
		timer := time.NewTimer(rest)
		select {
		case <-news:
		case <-timer.C:
		case <-end.C:
			over = true
			b.unsettled(most)
		case <-b.gone:
			timer.Stop()
			return ErrGone
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
	return b.evaluate(ctx, nil, "drawn")
}

// unsettled notes that the page still loads. Requests that take so long are not waited for again.
func (b *Browser) unsettled(after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loading {
		b.add(&b.view.Notes, "The page was still loading after %s.", after)
	}
	for _, r := range b.pending {
		b.add(&b.view.Notes, "The request %s was not answered after %s.", r, after)
	}
	clear(b.pending)
}

// follow goes to the page that was opened in a window, as there is only one.
func (b *Browser) follow(ctx context.Context) error {
	b.mu.Lock()
	open := b.open
	b.open = ""
	if open != "" {
		b.add(&b.view.Notes, "The page opened %s in a window of its own, which is shown in place of it.", inPage(open))
	}
	b.mu.Unlock()
	if open == "" {
		return nil
	}
	if _, err := reach.Loopback(open); err != nil {
		b.mu.Lock()
		b.add(&b.view.Notes, "It was not opened: %v.", err)
		b.mu.Unlock()
		return nil //nolint:nilerr // the page goes on without it
	}
	if err := b.navigate(ctx, open); err != nil {
		return err
	}
	return b.settle(ctx, loadTime)
}

// look returns the page as it is, and takes the events since the last look.
func (b *Browser) look(ctx context.Context, picture bool) (workspace.PageView, error) {
	var o struct {
		URL, Title   string
		Lines        []string
		Above, Below int
		Last         int
	}
	if err := b.evaluate(ctx, &o, "outline", b.last, maxLines); err != nil {
		return workspace.PageView{}, err
	}
	var shot []byte
	if picture {
		var err error
		if shot, err = b.picture(ctx); err != nil {
			return workspace.PageView{}, err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = o.Last
	v := b.view
	b.view = workspace.PageView{}
	v.URL, v.Title, v.Above, v.Below, v.Picture = line(o.URL), line(o.Title), o.Above, o.Below, shot
	for _, l := range o.Lines {
		v.Outline = append(v.Outline, line(l))
	}
	page, _, _ := strings.Cut(o.URL, "#")
	if v.Same = b.previous != nil && page == b.page; v.Same {
		v.Gone, v.New = missing(b.previous, v.Outline), missing(v.Outline, b.previous)
	}
	b.previous, b.page = append([]string{}, v.Outline...), page
	return v, nil
}

// missing returns the lines of a list that another one has not, or has less often.
func missing(of, in []string) (out []string) {
	rest := slices.Clone(in)
	for _, l := range of {
		if i := slices.Index(rest, l); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		out = append(out, l)
	}
	return out
}

// picture returns the viewport as PNG, or as JPEG if that is large.
func (b *Browser) picture(ctx context.Context) ([]byte, error) {
	within, cancel := context.WithTimeout(ctx, scriptTime)
	defer cancel()
	var png, jpeg struct {
		Data []byte `json:"data"`
	}
	err := b.call(within, b.session, "Page.captureScreenshot", object{"format": "png"}, &png)
	if err != nil || len(png.Data) <= maxPicture {
		return png.Data, err
	}
	err = b.call(within, b.session, "Page.captureScreenshot", object{"format": "jpeg", "quality": 75}, &jpeg)
	return bytes.Clone(jpeg.Data), err
}
