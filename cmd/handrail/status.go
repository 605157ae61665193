package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/door"
)

// statusCmd is handrail status.
type statusCmd struct {
	File   string `name:"config" short:"c" type:"path" placeholder:"FILE" help:"Configuration file of the server."`
	Listen string `placeholder:"ADDRESS" help:"Address that the server listens on; that of the configuration otherwise."`
	JSON   bool   `name:"json" help:"Print one JSON object."`
}

// serverStatus is the status of a running server.
type serverStatus struct {
	Version    string         `json:"version"`
	Since      time.Time      `json:"since"`
	As         string         `json:"as,omitempty"` // login on GitHub; "" before the first contact
	Workspace  string         `json:"workspace"`
	Model      string         `json:"model"`
	Deliveries map[string]int `json:"deliveries"` // since the start, by outcome
	Last       time.Time      `json:"last,omitzero"`
	Sessions   map[string]int `json:"sessions"` // those that are not over, by phase
	Wrong      []string       `json:"wrong,omitempty"`
}

// Run asks a running server for its status. It fails if the server is not ready.
func (c *statusCmd) Run(ctx context.Context, w *console) error {
	at, err := (&serveCmd{File: c.File, Listen: c.Listen}).address()
	if errors.Is(err, fs.ErrPermission) {
		return door.Usage("%w; with --listen ADDRESS the server is found without its file", err)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/status", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if full := new(url.Error); errors.As(err, &full) {
			err = full.Err
		}
		return fmt.Errorf(
			"no server answers at %s: %w\nStart one with \"handrail serve --config FILE\". One that listens elsewhere is found with --config FILE, or --listen ADDRESS",
			at, err,
		)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("ask %s: %w", at, err)
	}
	var got serverStatus
	if resp.StatusCode != http.StatusOK || json.Unmarshal(data, &got) != nil {
		return fmt.Errorf("%s answers %s, and is no handrail serve that can be asked from here", at, resp.Status)
	}
	if c.JSON {
		err = door.JSONLine(w.out, got)
	} else {
		err = w.door().Table(got.rows())
	}
	if err == nil && len(got.Wrong) > 0 {
		err = door.ErrFailed
	}
	return err
}

// rows returns the status for the operator.
func (s serverStatus) rows() (list [][]string) {
	line := func(name, text string) { list = append(list, []string{name, text}) }
	line("version", s.Version)
	line("up", time.Since(s.Since).Round(time.Second).String())
	as := s.As
	if as == "" {
		as = "not connected to GitHub yet"
	}
	line("as", as)
	line("workspace", s.Workspace)
	line("model", s.Model)
	line("deliveries", perOutcome(s.Deliveries))
	if !s.Last.IsZero() {
		line("last", time.Since(s.Last).Round(time.Second).String()+" ago")
	}
	line("sessions", perOutcome(s.Sessions))
	if len(s.Wrong) == 0 {
		line("state", "ready")
	}
	for _, why := range s.Wrong {
		line("not ready", why)
	}
	return list
}

func perOutcome(by map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d %s", by[name], name))
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// status answers [statusCmd] alone: requests of other machines, and those that came through
// a proxy, learn nothing.
func (s *server) status(w http.ResponseWriter, r *http.Request) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().IsLoopback() || isForwarded(r) { //control:status-is-for-this-machine
		http.NotFound(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	out := serverStatus{
		Version:   s.version,
		Since:     s.since.UTC(),
		Workspace: s.workspace,
		Model:     s.cfg.Model.Name,
		Sessions:  map[string]int{},
		Wrong:     s.watch.Troubles(),
	}
	out.Deliveries, out.Last = s.told.numbers()
	soon, cancelSoon := context.WithTimeout(ctx, time.Second) // while GitHub is away it would be asked in vain
	out.As, err = s.app.Self(soon)
	cancelSoon()
	states := slices.DeleteFunc(session.Phases(), session.Phase.Over)
	open, listErr := s.store.Sessions.List(ctx, store.Query{States: states, Limit: 1000})
	if err = errors.Join(err, listErr); listErr != nil {
		out.Wrong = append(out.Wrong, "the database does not answer")
	}
	if err != nil {
		s.log.WarnContext(ctx, "status is incomplete", "err", err)
	}
	for _, row := range open {
		out.Sessions[string(row.State)]++
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the client may be gone
}

// isForwarded reports whether a proxy sent a request on.
func isForwarded(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return true
		}
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	at, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host != "localhost" && (err != nil || !at.IsLoopback())
}

// numbers returns the number of deliveries by outcome, and the time of the last one.
func (l *deliveryLog) numbers() (by map[string]int, last time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts), l.last
}
