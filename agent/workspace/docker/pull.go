package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/client"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// pulls are the pulls in progress, by image. Workspaces that need the same image share
// a pull.
type pulls struct {
	mu   sync.Mutex
	busy map[string]*pull
}

// pull is the pull of an image. It is cancelled when the last waiting caller leaves.
type pull struct {
	wanted int
	stop   context.CancelFunc
	ended  chan struct{}
	err    error // valid once ended is closed

	answered atomic.Bool // the registry has responded

	mu   sync.Mutex
	tell map[int]func(string)
	last string
}

// get pulls an image, or joins a pull in progress, and waits within the patience of
// spec. It calls Tell from one goroutine at a time.
func (e *Engine) get(ctx context.Context, image string, spec workspace.Spec) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	e.pulls.mu.Lock()
	p := e.pulls.busy[image]
	if p == nil {
		p = e.begin(ctx, image)
	}
	p.wanted++
	e.pulls.mu.Unlock()
	defer p.subscribe(spec.Tell)()
	if spec.Patience > 0 {
		defer time.AfterFunc(spec.Patience, func() {
			if !p.answered.Load() {
				giveUp(
					noImage{
						fmt.Errorf(
							"its registry did not answer within %s: see that this machine reaches it, or name an image that is there",
							spec.Patience,
						),
						spec.Image,
					},
				)
			}
		}).Stop()
	}
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
	}
	if e.leave(image, p) { //control:pull-can-be-stopped
		p.stop()
		<-p.ended
	}
	return fmt.Errorf("pull image %s: %w", image, context.Cause(ctx))
}

// begin starts the pull of an image. It outlives ctx. The caller holds the lock.
func (e *Engine) begin(ctx context.Context, image string) *pull {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &pull{stop: stop, ended: make(chan struct{}), tell: map[int]func(string){}}
	if e.pulls.busy == nil {
		e.pulls.busy = map[string]*pull{}
	}
	e.pulls.busy[image] = p
	go func() {
		defer stop()
		p.err = e.pull(ctx, image, p)
		e.pulls.mu.Lock()
		e.pulls.forget(image, p)
		e.pulls.mu.Unlock()
		close(p.ended)
	}()
	return p
}

// leave removes one waiting caller of a pull, and reports whether it was the last.
func (e *Engine) leave(image string, p *pull) bool {
	e.pulls.mu.Lock()
	defer e.pulls.mu.Unlock()
	if p.wanted--; p.wanted > 0 {
		return false
	}
	e.pulls.forget(image, p)
	return true
}

// forget removes a pull from the list: later callers start a new one.
func (all *pulls) forget(image string, p *pull) {
	if all.busy[image] == p {
		delete(all.busy, image)
	}
}

// subscribe subscribes tell to a pull's progress until the returned function is called.
func (p *pull) subscribe(tell func(string)) func() {
	if tell == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id := len(p.tell)
	for p.tell[id] != nil {
		id++
	}
	if p.tell[id] = tell; p.last != "" {
		tell(p.last)
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.tell, id)
	}
}

func (p *pull) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == text {
		return
	}
	p.last = text
	for _, tell := range p.tell {
		tell(text)
	}
}

// pull asks the daemon to pull an image, with the credentials of docker's configuration.
func (e *Engine) pull(ctx context.Context, image string, p *pull) error {
	p.say("pulling image " + image)
	auth, err := e.cfg.Logins.header(ctx, registryOf(image))
	if err == nil {
		err = e.receive(ctx, image, auth, p)
	}
	if err == nil {
		return nil
	}
	return noImage{fmt.Errorf("pull image %s: %w: %s", image, err, remedy(image, err)), image}
}

// noImage is an error that matches [workspace.ErrNoImage].
type noImage struct {
	error
	image string
}

// Image returns the name of the image.
func (n noImage) Image() string { return n.image }

// Is implements the interface used by [errors.Is].
func (noImage) Is(target error) bool { return target == workspace.ErrNoImage }

// Unwrap returns the cause.
func (n noImage) Unwrap() error { return n.error }

func (e *Engine) receive(ctx context.Context, image, auth string, p *pull) error {
	res, err := e.docker.ImagePull(ctx, image, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return err
	}
	defer res.Close()
	var far progress
	for m, err := range res.JSONMessages(ctx) {
		if err != nil {
			return err
		}
		p.answered.Store(true)
		if m.Error != nil {
			return m.Error
		}
		if far.add(m) {
			p.say(fmt.Sprintf("pulling image %s: %s", image, far))
		}
	}
	return ctx.Err()
}

// remedy suggests a remedy for a failed pull.
func remedy(image string, err error) string {
	text := strings.ToLower(err.Error())
	switch {
	case errors.Is(err, context.Canceled):
		return "it is no longer needed"
	case errdefs.IsUnauthorized(err), errdefs.IsPermissionDenied(err),
		strings.Contains(text, "unauthorized"), strings.Contains(text, "denied"), strings.Contains(text, "no basic auth"), strings.Contains(text, "authentication required"):
		return fmt.Sprintf(
			"its registry does not give it to this machine, or has no such image: check the name, and run \"docker login %s\" as the user that runs Handrail",
			registryOf(image),
		)
	case errdefs.IsNotFound(err), strings.Contains(text, "not found"), strings.Contains(text, "manifest unknown"):
		return "its registry does not have it: correct the name, or build it and name it so"
	}
	return fmt.Sprintf("run \"docker pull %s\" where the daemon runs, or name an image that is there", image)
}

// missingImage returns the error for a missing image, with a remedy.
func missingImage(image string) error {
	do := fmt.Sprintf("run \"docker pull %s\", or build it", image)
	if image == workspace.DefaultImage {
		do = fmt.Sprintf(
			"make it once from one with your toolchain, by \"echo FROM golang:1.26 | docker build -t %s -\", or name another with \"policy: {workspace: {image: …}}\" or --image",
			image,
		)
	}
	return noImage{fmt.Errorf("find image %s: it is not on this machine: %s", image, do), image}
}

// registryOf returns the registry of an image in docker's notation.
func registryOf(image string) string {
	host, _, below := strings.Cut(image, "/")
	if below && (strings.ContainsAny(host, ".:") || host == "localhost") {
		return host
	}
	return "docker.io"
}

// reportInterval is the minimum time between two reports of progress.
const reportInterval = 3 * time.Second

// progress sums up the progress of an image's layers.
type progress struct {
	layers map[string]*layer
	told   time.Time
}

type layer struct {
	done      bool
	has, size int64
}

// add processes a message, and reports whether a report of progress is due.
func (p *progress) add(m jsonstream.Message) bool {
	if m.ID == "" || strings.HasPrefix(m.Status, "Pulling from") {
		return false
	}
	if p.layers == nil {
		p.layers = map[string]*layer{}
	}
	l := p.layers[m.ID]
	if l == nil {
		l = &layer{}
		p.layers[m.ID] = l
	}
	switch m.Status {
	case "Downloading":
		if m.Progress != nil {
			l.has, l.size = m.Progress.Current, cmp.Or(max(m.Progress.Total, 0), l.size)
		}
	case "Download complete", "Extracting":
		l.has = l.size
	case "Pull complete", "Already exists":
		l.has, l.done = l.size, true
	}
	if now := time.Now(); now.Sub(p.told) >= reportInterval {
		p.told = now
		return true
	}
	return false
}

// String returns the total progress.
func (p progress) String() string {
	done, has, size := 0, int64(0), int64(0)
	for _, l := range p.layers {
		has, size = has+l.has, size+l.size
		if l.done {
			done++
		}
	}
	text := fmt.Sprintf("%d of %d layers", done, len(p.layers))
	if size > 0 {
		text += fmt.Sprintf(", %d of %d MB", has>>20, (size+1<<20-1)>>20)
	}
	return text
}
