package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/agent/workspace/browser"
	"github.com/handrail-bot/handrail/policy/reach"
)

// Limits of the browser.
const (
	browserMemory = 1536 << 20
	idleBrowser   = 20 * time.Minute
	stepTime      = time.Minute
	startTime     = 20 * time.Second
)

// pages runs the browser of the workspace. There is one at most.
type pages struct {
	h        *host
	mu       sync.Mutex // held during a step
	state    sync.Mutex // guards the fields below
	now      *chromium
	why      string // the reason that the last one has ended
	closed   bool
	followed sync.WaitGroup
}

type chromium struct {
	*browser.Browser
	pr   *program
	out  *os.File
	dir  string
	used time.Time
}

// find returns the browser's program on the workspace's PATH, or "".
func (p *pages) find() string {
	for _, name := range browser.Names() {
		if at := p.h.onPath(name); at != "" {
			return at
		}
	}
	return ""
}

// name returns the name of the browser's program, or "".
func (p *pages) name() string {
	if at := p.find(); at != "" {
		return path.Base(at)
	}
	return ""
}

// page carries out a step. A page that does not answer takes its browser with it.
func (p *pages) page(ctx context.Context, s workspace.PageStep) (*workspace.PageView, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Action == workspace.PageClose {
		return p.last(ctx, s)
	}
	if s.Action == workspace.PageLaunch {
		if _, err := reach.Loopback(s.URL); err != nil {
			return nil, err
		}
	}
	c, err := p.running(ctx, s.Action == workspace.PageLaunch)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, p.h.cfg.limit(stepTime))
	defer cancel()
	v, err := c.Step(within, s)
	if err == nil {
		p.state.Lock()
		c.used = time.Now()
		p.state.Unlock()
		return &v, nil
	}
	switch {
	case errors.Is(err, browser.ErrGone):
		p.end(c, browser.ErrGone.Error())
		return nil, fmt.Errorf("%s; launch it again", p.reason())
	case errors.Is(err, browser.ErrCrashed), errors.Is(err, context.DeadlineExceeded):
		p.end(c, "")
		return nil, fmt.Errorf("%w. The browser was closed; launch it again", err)
	}
	return nil, err
}

// last closes the browser, after a last look at the page.
func (p *pages) last(ctx context.Context, s workspace.PageStep) (*workspace.PageView, error) {
	c, err := p.running(ctx, false)
	if err != nil {
		return nil, err
	}
	s.Action = workspace.PageScreenshot
	within, cancel := context.WithTimeout(ctx, p.h.cfg.limit(stepTime))
	defer cancel()
	v, err := c.Step(within, s)
	p.end(c, "")
	if err != nil {
		return &workspace.PageView{}, nil //nolint:nilerr // it is closed, which is all that was asked for
	}
	return &v, nil
}

func (p *pages) reason() string {
	p.state.Lock()
	defer p.state.Unlock()
	return p.why
}

// running returns the browser, and starts it if that is allowed.
func (p *pages) running(ctx context.Context, start bool) (*chromium, error) {
	p.state.Lock()
	c, why, closed := p.now, p.why, p.closed
	p.state.Unlock()
	switch {
	case closed:
		return nil, workspace.ErrGone
	case c != nil:
		return c, nil
	case !start && why != "":
		return nil, fmt.Errorf("%s; launch it again", why)
	case !start:
		return nil, errors.New(`no browser is open: begin with action "launch" and a URL`)
	}
	if err := p.h.base.wait(ctx); err != nil { // disk use is counted from then on
		return nil, err
	}
	if err := p.h.mayRun(ctx, ""); err != nil {
		return nil, err
	}
	return p.start(ctx)
}

func (p *pages) start(ctx context.Context) (*chromium, error) {
	at := p.find()
	if at == "" {
		return nil, errors.New("there is no Chromium in this workspace")
	}
	dir, err := os.MkdirTemp("", "browser-")
	if err != nil {
		return nil, fmt.Errorf("start browser: %w", err)
	}
	pr, out, err := p.h.spawn(workspace.Program{Argv: browser.Argv(at, dir), Env: browser.Environ(dir)}, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	within, cancel := context.WithTimeout(ctx, p.h.cfg.limit(startTime))
	defer cancel()
	c := &chromium{pr: pr, out: out, dir: dir, used: time.Now()}
	c.Browser, err = browser.Start(within, serverPipe{out, pr.stdin, p.h.cfg.limit(deafTime)})
	if err != nil {
		said := lastLine(path.Join(dir, "log"))
		p.h.procs.killAll(pr.family())
		_ = p.h.ended(pr, out) // it was killed
		return nil, errors.Join(fmt.Errorf("%s does not start here: %w (%s)", path.Base(at), err, said), os.RemoveAll(dir))
	}
	p.state.Lock()
	defer p.state.Unlock()
	p.now, p.why = c, ""
	p.followed.Go(func() { p.follow(c) })
	return c, nil
}

// lastLine returns the last line of a file, "" if there is none.
func lastLine(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	data = data[max(0, len(data)-500):]
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(data), "")), "\n")
	return lines[len(lines)-1]
}

// follow ends a browser that is idle, takes too much memory, or has ended by itself.
func (p *pages) follow(c *chromium) {
	most := int64(browserMemory)
	if m := p.h.cfg.Limits.MemoryBytes; m > 0 {
		most = min(most, m/2)
	}
	tick := time.NewTicker(watchServer)
	defer tick.Stop()
	for why := ""; ; {
		select {
		case <-c.Gone():
			why = "the browser has ended"
		case <-tick.C:
			p.state.Lock()
			idle := time.Since(c.used) > idleBrowser
			p.state.Unlock()
			switch {
			case p.h.procs.memory(c.pr.family()) > most: //control:browser-memory
				why = fmt.Sprintf("the browser was stopped because it used more than %d MB", most>>20)
			case idle:
				why = "the browser was closed because it was not used"
			}
		}
		if why != "" {
			p.stop(c, why)
			return
		}
	}
}

// stop ends a browser, unless that is done.
func (p *pages) stop(c *chromium, why string) {
	p.state.Lock()
	mine := p.now == c
	if mine {
		p.now, p.why = nil, why
	}
	p.state.Unlock()
	if !mine {
		return
	}
	p.h.procs.killAll(c.pr.family())
	_ = p.h.ended(c.pr, c.out) // it was killed
	if err := os.RemoveAll(c.dir); err != nil {
		p.h.log.Warn("remove the browser's files", "err", err)
	}
}

// end ends a browser and waits for that.
func (p *pages) end(c *chromium, why string) {
	p.stop(c, why)
	p.followed.Wait()
}

// close ends the browser; none starts afterwards.
func (p *pages) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Lock()
	c := p.now
	p.closed = true
	p.state.Unlock()
	if c != nil {
		p.end(c, "")
	}
}
