package ghtest

import (
	"net/http"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/graphql"
	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
)

// graphql answers a query, beside the REST API and with its tokens.
func (s *Server) graphql(r *http.Request, body []byte) response {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, err := s.authenticate(r.Header.Get("Authorization"))
	if err != nil || who.user == nil || r.Method != http.MethodPost {
		return refuse(&hub.Refused{Status: http.StatusUnauthorized, Message: "This endpoint requires you to be authenticated."})
	}
	out, err := graphql.View{Hub: s.Hub, URL: s.url, Role: association,
		Sees: func(r *hub.Repo) bool { return who.visible(s.Hub, r) },
		May:  func(need string) bool { return who.inst() == nil || granted(who.tok.Perms, need) },
	}.Answer(body)
	if err != nil {
		return refuse(&hub.Refused{Status: http.StatusBadRequest, Message: "Problems parsing JSON"})
	}
	return response{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, body: out}
}
