// Package ghcheck is the small GitHub for tests. Every request and every
// answer is compared with GitHub's official OpenAPI description; what does not
// fit fails with status 500 and is kept in [ghtest.Server.Violations], so a
// client that passes here says what GitHub understands.
//
// Faults can be injected, see [Faults]. Nothing of this is in the program.
package ghcheck

import (
	"net/http"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/graphql"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/webflow"
)

// Server is a [ghtest.Server] that is checked.
type Server struct {
	*ghtest.Server
	faulty *faulty
}

// New returns a fake that is not yet served; see [ghtest.Server.Start].
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
	cfg.API = func(next http.Handler) http.Handler {
		s.faulty = newFaulty(next)
		return s.faulty
	}
	cfg.GitAway = func(r *http.Request) bool { return s.faulty.gitAway(r) }
	s.Server, err = ghtest.New(cfg)
	return s, err
}

// Close stops serving, after what is late, and removes what New made.
func (s *Server) Close() error {
	select {
	case <-s.faulty.closed:
	default:
		close(s.faulty.closed)
	}
	s.faulty.done.Wait()
	return s.Server.Close()
}
