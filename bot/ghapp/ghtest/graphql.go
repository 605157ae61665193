package ghtest

import (
	"net/http"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// Viewer is the sender of a GraphQL query, with the sender's access rights.
type Viewer struct {
	Hub  *hub.Hub
	User *hub.User
	URL  string                       // base URL of the web pages
	Sees func(*hub.Repo) bool         // whether the viewer can see a repository
	May  func(permission string) bool // whether the viewer has a permission, such as "issues:read"
}

// graphql answers a GraphQL query. It accepts the tokens of the REST API.
func (s *Server) graphql(r *http.Request, body []byte) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, err := s.authenticate(r.Header.Get("Authorization"))
	if err != nil || who.user == nil || r.Method != http.MethodPost {
		return refuse(
			&hub.Refused{Status: http.StatusUnauthorized, Message: "This endpoint requires you to be authenticated."},
		)
	}
	if s.query == nil {
		return refuse(hub.NotFound())
	}
	out, err := s.query(Viewer{Hub: s.Hub, User: who.user, URL: s.url,
		Sees: func(r *hub.Repo) bool { return who.visible(s.Hub, r) },
		May:  func(permission string) bool { return who.inst() == nil || hasPermission(who.tok.Perms, permission) },
	}, body)
	if err != nil {
		return refuse(&hub.Refused{Status: http.StatusBadRequest, Message: "Problems parsing JSON"})
	}
	return response{
		status: http.StatusOK,
		header: http.Header{"Content-Type": {"application/json; charset=utf-8"}},
		body:   out,
	}
}
