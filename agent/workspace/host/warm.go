package host

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"github.com/handrail-bot/handrail/agent/lsp"
)

// maxWarm is the time limit for the indexes of all servers.
const maxWarm = 5 * time.Minute

// warm lets the servers that keep an index on disk make it for the files here, and returns their names. A
// server that fails is left out: its index is made later, by those who need it.
func (s *servers) warm(ctx context.Context) (made []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxWarm)
	defer cancel()
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	var keep []lsp.Server
	for k := range s.installed(known) {
		if k.Cache {
			keep = append(keep, k)
		}
	}
	if len(keep) == 0 {
		return nil, nil
	}
	files, err := s.filesHere(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range keep {
		for ext := range k.Languages {
			first := files[ext].first
			if first == "" || slices.Contains(made, k.Name) {
				continue
			}
			if s.index(ctx, k.Name, first) {
				made = append(made, k.Name)
			}
		}
	}
	return made, nil
}

// index asks the server of that name, if it is that of the file, for the implementations and uses of a type,
// which takes all files, and ends it.
func (s *servers) index(ctx context.Context, name, first string) bool {
	v, why := s.serverFor(ctx, first)
	if why != "" || v.Name != name {
		return false
	}
	defer func() {
		v.mu.Lock()
		v.stop(s.h, "")
		v.starts = 0
		v.mu.Unlock()
	}()
	client := v.client.Load()
	if client == nil || !s.opens(ctx, client, first) || !client.Ready(ctx, maxWarm) {
		return false
	}
	at, ok := s.someType(ctx, client, first)
	if !ok || !s.opens(ctx, client, s.rel(at.Path)) {
		return false
	}
	text, err := survey{s.h}.source(s.rel(at.Path))
	if err != nil {
		return false
	}
	for _, ask := range []lsp.Ask{lsp.Implementations, lsp.Declared} {
		for {
			_, err := client.Find(ctx, ask, at.Path, client.Position(at, text))
			if err == nil {
				break
			}
			if !errors.Is(err, lsp.ErrSilent) || ctx.Err() != nil { // it continues
				return false
			}
		}
	}
	client.Diagnose(ctx, at.Path, maxWarm)
	return ctx.Err() == nil
}

// opens opens a file in a server.
func (s *servers) opens(ctx context.Context, client *lsp.Client, rel string) bool {
	text, err := survey{s.h}.source(rel)
	return err == nil && client.Sync(ctx, path.Join(s.h.cfg.Root, rel), text) == nil
}

// someType returns a type that a file or the project defines, or else another definition of the file.
func (s *servers) someType(ctx context.Context, client *lsp.Client, first string) (lsp.Symbol, bool) {
	here, err := client.Symbols(ctx, path.Join(s.h.cfg.Root, first))
	if err != nil {
		return lsp.Symbol{}, false
	}
	all, err := client.Search(ctx, "e") // an empty query finds nothing
	if err != nil {
		all = nil
	}
	for _, at := range append(slices.Clone(here), all...) {
		switch at.Kind {
		case "class", "interface", "struct":
			if s.rel(at.Path) != "" {
				return at, true
			}
		}
	}
	if len(here) == 0 {
		return lsp.Symbol{}, false
	}
	return here[0], true
}
