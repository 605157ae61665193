package ghtest

import (
	"net/http"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// AttachmentPath is the path of files dropped into a text on the web page.
const AttachmentPath = "/user-attachments/assets/"

const signedPath = "/private-user-images/"

// attachment finds a file by its id. id may have a suffix.
func (s *Server) attachment(id string) *hub.Attachment {
	for _, a := range s.Attachments {
		if id != "" && strings.HasPrefix(id, a.ID) {
			return a
		}
	}
	return nil
}

// serveAttachment plays the external hosts of attachments. A request with a token is a
// violation.
func (s *Server) serveAttachment(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		s.violate("GET %s: a token was sent to the host that keeps attachments", r.URL.Path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := strings.CutPrefix(r.URL.Path, AttachmentPath); ok {
		a := s.attachment(id)
		if a == nil || !a.Public {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, signed(a), http.StatusFound)
		return
	}
	a := s.attachment(strings.TrimPrefix(r.URL.Path, signedPath))
	if a == nil || r.URL.Query().Get("jwt") != a.JWT {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := w.Write(a.Data); err != nil {
		s.log.Debug("write attachment", "err", err)
	}
}

func signed(a *hub.Attachment) string { return signedPath + a.ID + ".png?jwt=" + a.JWT }

// withHTML adds rendered HTML to an answer if the caller asked for it. Attachments get
// their signed address, as on GitHub.
func withHTML(c *call, out any) any {
	if !strings.Contains(c.r.Header.Get("Accept"), "full+json") {
		return out
	}
	switch out := out.(type) {
	case object:
		body, _ := out["body"].(string)
		if _, is := out["body"]; is {
			page := untrusted.Page(body)
			if c.s.HTML != nil {
				page = c.s.HTML(body)
			}
			for _, a := range c.s.Attachments {
				page = strings.ReplaceAll(page, c.s.url+AttachmentPath+a.ID, c.s.url+signed(a))
			}
			out["body_html"], out["body_text"] = page, body
		}
	case []object:
		for _, one := range out {
			withHTML(c, one)
		}
	case []any:
		for _, one := range out {
			withHTML(c, one)
		}
	}
	return out
}
