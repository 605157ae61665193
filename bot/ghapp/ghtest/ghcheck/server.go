// Package ghcheck is package ghtest with validation. Every request and every answer is
// compared with GitHub's official OpenAPI description. A mismatch fails with status 500
// and is recorded in [ghtest.Server.Violations], so a client that passes here sends
// requests that GitHub understands.
//
// It can also inject faults, see [Faults]. The product does not contain this package.
package ghcheck

import (
	"net/http"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/graphql"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/webflow"
)

// Server is a [ghtest.Server] with validation.
type Server struct {
	*ghtest.Server
	faulty *faulty
}

// New returns a server that does not listen yet; see [ghtest.Server.Start].
func New(cfg ghtest.Config) (*Server, error) {
	sp, err := description()
	if err != nil {
		return nil, err
	}
	s := &Server{}
	cfg.Description, cfg.Query = sp, graphql.Answer
	cfg.Signature = webflow.Signature
	if cfg.Sign == nil {
		cfg.Sign = webflow.Sign
	}
	s.faulty = newFaulty(func(r *http.Request) string { return s.Route(r) })
	cfg.API = func(next http.Handler) http.Handler {
		s.faulty.next = s.faulty.breaking(next)
		return s.faulty
	}
	cfg.Git = func(next http.Handler) http.Handler { return s.faulty.withoutGit(s.faulty.breaking(next)) }
	s.Server, err = ghtest.New(cfg)
	return s, err
}

// Close runs the outstanding late writes and closes the server.
func (s *Server) Close() error {
	select {
	case <-s.faulty.closed:
	default:
		close(s.faulty.closed)
	}
	s.faulty.done.Wait()
	return s.Server.Close()
}
