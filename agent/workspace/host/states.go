package host

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/lsp"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// filesOf are the files of one extension: their number, and the first one.
type filesOf struct {
	n     int
	first string
}

// filesHere returns the files of the workspace by their extensions.
func (s *servers) filesHere(ctx context.Context) (map[string]filesOf, error) {
	out, looked := map[string]filesOf{}, 0
	err := s.h.visible(func(n *node) (bool, error) {
		if ext := strings.ToLower(path.Ext(n.path)); n.mode.IsRegular() {
			f := out[ext]
			if f.n++; f.first == "" || n.path < f.first {
				f.first = n.path
			}
			out[ext] = f
		}
		if looked++; looked > maxLooked {
			return false, errWalked
		}
		return true, nil
	}).walk(ctx, ".")
	if err != nil && !errors.Is(err, errWalked) {
		return nil, fmt.Errorf("look for languages: %w", err)
	}
	return out, nil
}

// states starts the servers of the files here, and reports how they are. For files without an
// installed one it reports the first known.
func (s *servers) states(ctx context.Context) (out []workspace.ServerState, err error) {
	files, err := s.filesHere(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	taken := map[string]bool{}
	add := func(k lsp.Server, installed bool) {
		state, first := workspace.ServerState{Server: k.Name, Installed: installed, Install: k.Install}, ""
		for ext := range k.Languages {
			if f := files[ext]; f.n > 0 && !taken[ext] {
				taken[ext] = true
				state.Files += f.n
				state.Extensions = append(state.Extensions, ext)
				if first == "" || f.first < first {
					first = f.first
				}
			}
		}
		if state.Files == 0 {
			return
		}
		slices.Sort(state.Extensions)
		if installed {
			state.Bundled = s.h.cfg.LSP != "" && strings.HasPrefix(k.Argv[0], s.h.cfg.LSP+"/")
			s.tryStart(ctx, first, &state)
		}
		out = append(out, state)
	}
	for k := range s.installed(known) {
		add(k, true)
	}
	for _, k := range known {
		add(k, false)
	}
	return out, nil
}

// tryStart starts the server of a file.
func (s *servers) tryStart(ctx context.Context, rel string, state *workspace.ServerState) {
	began := time.Now()
	v, why := s.serverFor(ctx, rel)
	state.Start, state.Why = time.Since(began), why
	if why != "" {
		return
	}
	if c := v.client.Load(); c != nil {
		state.Version = c.Version()
	} else {
		state.Why = "it has ended after its start"
	}
}
