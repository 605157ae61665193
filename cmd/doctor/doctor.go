// Package doctor checks every precondition of a working server: each check is a line, and
// a failed one has a remedy.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/records"
)

// Finding is one line of a report. Remedy says how to fix a failed check. No session
// works while a Needed check fails.
type Finding struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy,omitempty"`
	Needed bool   `json:"needed"`
	Millis int64  `json:"ms"`
}

// Report is the output of `doctor --config --json`.
type Report struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

// Config is the server to examine, with the connections to its parts.
type Config struct {
	Server config.Server
	Model  func(name string) (llm.Model, error)
	// Embedder returns the model that finds code by its meaning; nil if none is configured.
	Embedder func() (llm.Embedder, error)
	Exam     func(name string) (ExamConfig, error) // parameters for a trial of the model
	Engines  func(ctx context.Context) []Finding   // nil skips them
	GitHub   http.RoundTripper
	HTTP     http.RoundTripper // to the model
	Log      *slog.Logger
	Now      func() time.Time // nil means time.Now
}

// Of returns the connections to the parts of a server.
type Of func(cfg config.Server, log *slog.Logger) Config

func (c *Config) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// passed returns the finding of a passed check.
func passed(name, format string, args ...any) Finding {
	return Finding{Name: name, OK: true, Detail: fmt.Sprintf(format, args...)}
}

func wrong(name, remedy, format string, args ...any) Finding {
	return Finding{Name: name, Detail: fmt.Sprintf(format, args...), Remedy: remedy, Needed: true}
}

// Quick runs the checks that take seconds: the model's server, GitHub, the clock and the
// disk.
func (c *Config) Quick(ctx context.Context) []Finding {
	return gather(ctx, c.model, c.github, c.data)
}

// Examine runs all checks.
func (c *Config) Examine(ctx context.Context) Report {
	checks := []func(context.Context) []Finding{c.model, c.embedding, c.github, c.deliveries, c.database, c.data}
	if c.Engines != nil {
		checks = append(checks, c.Engines)
	}
	out := Report{OK: true, Findings: gather(ctx, checks...)}
	for _, f := range out.Findings {
		out.OK = out.OK && (f.OK || !f.Needed)
	}
	return out
}

func gather(ctx context.Context, checks ...func(context.Context) []Finding) []Finding {
	var out []Finding
	for _, check := range checks {
		start := time.Now()
		found := check(ctx)
		for i := range found {
			found[i].Millis = cmp.Or(found[i].Millis, time.Since(start).Milliseconds())
		}
		out = append(out, found...)
	}
	return out
}

// Say writes a report as text.
func Say(w *door.Console, r Report) {
	List(w, r.Findings)
	if r.OK {
		fmt.Fprintln(w.Out, "The server has everything that it needs.")
		return
	}
	fmt.Fprintln(w.Out, "The server will not work until each ✗ is fixed.")
}

// List writes findings as text, with their remedies.
func List(w *door.Console, list []Finding) {
	for _, f := range list {
		mark := "✔"
		switch {
		case !f.OK && f.Needed:
			mark = "✗"
		case !f.OK:
			mark = "!"
		}
		w.Note(fmt.Sprintf("%s %-14s ", mark, f.Name), f.Detail)
		if f.Remedy != "" {
			w.Note("  → ", f.Remedy)
		}
	}
}

// database opens the database like the server at its start.
func (c *Config) database(ctx context.Context) []Finding {
	const name = "database"
	if !config.IsPostgres(c.Server.Database) {
		path := config.SQLitePath(c.Server)
		if _, err := os.Stat(path); err != nil {
			_, bad := writable(filepath.Dir(path), "database, or HANDRAIL_DATABASE")
			switch {
			case bad != nil && c.Server.Database == "":
				return nil // reported for the data directory
			case bad != nil:
				bad.Name = name
				return []Finding{*bad}
			}
			return []Finding{passed(name, "%s is made when the server starts", path)}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	kept, err := records.Open(ctx, c.Server, c.Log)
	if err != nil {
		remedy := "Is the file one of handrail's, and can this user read and write it?"
		if config.IsPostgres(c.Server.Database) {
			remedy = "Does PostgreSQL run there, and do the name, the password and the database exist? The address comes from database or HANDRAIL_DATABASE."
		}
		return []Finding{wrong(name, remedy, "it cannot be opened: %v", err)}
	}
	index := c.indexed(ctx, kept.Meta)
	if err := kept.Close(); err != nil {
		return []Finding{wrong(name, "Look at the disk.", "it cannot be closed: %v", err)}
	}
	if config.IsPostgres(c.Server.Database) {
		return append([]Finding{passed(name, "PostgreSQL answers, with the tables of this version")}, index...)
	}
	return append([]Finding{passed(name, "%s, with the tables of this version", config.SQLitePath(c.Server))}, index...)
}

// minFree is the free space below which a disk is reported as nearly full, in bytes.
const minFree = 2 << 30

// writable returns the existing part of a directory's path, and a finding if it is not
// writable. keys names the settings for another directory.
func writable(dir, keys string) (at string, bad *Finding) {
	is := func(remedy, format string, args ...any) (string, *Finding) {
		f := wrong("data", remedy, format, args...)
		return at, &f
	}
	for at = dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			break
		} else if err == nil {
			return is("Name a directory: "+keys+".", "%s is no directory", at)
		} else if filepath.Dir(at) == at {
			return is("Name another directory: "+keys+".", "%s: %v", dir, err)
		}
	}
	probe, err := os.CreateTemp(at, ".handrail-doctor-*")
	if err != nil {
		return is(
			"Give this directory to the user that the server runs as, or name another: "+keys+".",
			"%s cannot be written: %v",
			at,
			err,
		)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return is("Look at the disk.", "%s: %v", at, err)
	}
	return at, nil
}

// data checks that the data directory is writable, and its free space.
func (c *Config) data(context.Context) []Finding {
	const name = "data"
	dir := c.Server.Data
	at, bad := writable(dir, "data, or HANDRAIL_DATA")
	if bad != nil {
		return []Finding{*bad}
	}
	var s unix.Statfs_t
	if err := unix.Statfs(at, &s); err != nil {
		return []Finding{passed(name, "%s can be written", dir)}
	}
	free := int64(s.Bavail) * int64(s.Bsize)
	if free < minFree {
		f := wrong(
			name,
			"Make room there; bases.size says how much of it files of commits may take.",
			"%s has %d MiB left",
			dir,
			free>>20,
		)
		f.Needed = free < minFree/64
		return []Finding{f}
	}
	return []Finding{passed(name, "%s can be written, %d GiB are left", dir, free>>30)}
}

// onePerLine joins the lines of a text into one.
func onePerLine(text string) string { return strings.Join(strings.Fields(text), " ") }
