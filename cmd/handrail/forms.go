package main

// The successful answer forms of each model are remembered, so that the next
// session begins with the best one. The memory is a small file on this machine, shared by
// all processes of its user:
//
//	forms.go  the file: read, changed under a lock, replaced as a whole
//	record.go the record of one model, and the form that follows from it
//
// The memory is an optimization: if the file cannot be read or written, sessions begin
// without it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent"
	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/gitops/flock"
)

// formsConfig configures a [Memory].
type formsConfig struct {
	File   string // empty disables the memory
	Server string // address of the models' server
	Log    *slog.Logger
	Now    func() time.Time // nil means time.Now
}

// formsMemory is the memory of one server's models. It is safe for concurrent use, also by
// several processes.
type formsMemory struct{ cfg formsConfig }

var _ agent.Forms = (*formsMemory)(nil)

// newForms returns the memory in a file. The file may be missing.
func newForms(cfg formsConfig) *formsMemory {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &formsMemory{cfg}
}

// Version and limits of the file.
const (
	version   = 1
	maxModels = 64
	maxBytes  = 1 << 20
	maxWait   = 2 * time.Second // maximum time to wait for the lock
)

// formContent is the content of the file.
type formContent struct {
	Version int       `json:"version"`
	Models  []*record `json:"models"` // most recently used first
}

// Best returns the form to begin a session with, or [llm.FormAuto] if the weights are
// unknown.
func (m *formsMemory) Best(model string, caps llm.Capabilities) llm.Form {
	if m.cfg.File == "" {
		return llm.FormAuto
	}
	return m.read().find(m.cfg.Server, model, caps.Digest).best(caps)
}

// Ended records the outcome of a session in a form. A failed write is logged and
// otherwise ignored.
func (m *formsMemory) Ended(model string, caps llm.Capabilities, form llm.Form, well bool) {
	if m.cfg.File == "" || rank(form) < 0 {
		return
	}
	if err := m.change(func(c *formContent) { c.take(m.cfg, model, caps, form, well) }); err != nil {
		m.cfg.Log.Warn("form of a model is not remembered", "file", m.cfg.File, "model", model, "err", err)
	}
}

// change updates the file under its lock.
func (m *formsMemory) change(f func(*formContent)) (err error) {
	dir := filepath.Dir(m.cfg.File)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	lock, err := flock.Wait(ctx, m.cfg.File+".lock", true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flock.Release(lock)) }()
	c := m.read()
	f(c)
	text, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	return replace(dir, m.cfg.File, append(text, '\n'))
}

// replace replaces a file atomically: a reader sees the old or the new content.
func replace(dir, name string, text []byte) (err error) {
	temp, err := os.CreateTemp(dir, ".forms-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp.Name()))
	}
	return err
}

// read returns the content of the file, or an empty memory if the file is invalid.
func (m *formsMemory) read() *formContent {
	c, err := load(m.cfg.File)
	if err != nil {
		m.cfg.Log.Warn("memory of forms begins anew: its file cannot be read", "file", m.cfg.File, "err", err)
		return &formContent{Version: version}
	}
	return c
}

func load(name string) (*formContent, error) {
	c := &formContent{Version: version}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxBytes:
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, err
	}
	if c.Version != version {
		return nil, fmt.Errorf("it has version %d, and this program knows %d", c.Version, version)
	}
	c.Models = slices.DeleteFunc(c.Models, func(r *record) bool { return r == nil })
	return c, nil
}

// find returns the record of a model's weights, found by digest, or by the model's name
// if the server reports no digest. It returns nil if there is no record.
func (c *formContent) find(server, model, digest string) *record {
	for _, r := range c.Models {
		if digest != "" && r.Digest == digest || digest == "" && r.named(server, model) {
			return r
		}
	}
	return nil
}

// take records an outcome. It drops the records of other weights under the same name, and
// the least recently used models beyond the limit.
func (c *formContent) take(cfg formsConfig, model string, caps llm.Capabilities, form llm.Form, well bool) {
	r := c.find(cfg.Server, model, caps.Digest)
	if r == nil {
		r = &record{Server: cfg.Server, Model: model, Digest: caps.Digest}
	}
	c.Models = slices.DeleteFunc(
		c.Models,
		func(o *record) bool { return o == r || caps.Digest != "" && o.named(cfg.Server, model) },
	)
	r.take(form, well)
	r.Server, r.Model = cfg.Server, model
	r.Used = cfg.Now().UTC().Truncate(time.Second)
	c.Models = slices.Insert(c.Models, 0, r)
	c.Models = c.Models[:min(len(c.Models), maxModels)]
}
