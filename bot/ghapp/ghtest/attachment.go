package ghtest

import (
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/ghtest/hub"
	"github.com/handrail-bot/handrail/policy/pattern"
)

// AttachmentPath is where the page puts files that are dropped into a text.
const AttachmentPath = "/user-attachments/assets/"

const signedPath = "/private-user-images/"

// attachment finds a file by its id, which may have more after it.
func (s *Server) attachment(id string) *hub.Attachment {
	for _, a := range s.Attachments {
		if id != "" && strings.HasPrefix(id, a.ID) {
			return a
		}
	}
	return nil
}

// serveAttachment stands for the other hosts where GitHub keeps such files.
// A token must not be sent there.
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

var shownImage = pattern.Lazy(`!\[([^\]]*)\]\(([^)\s]+)\)|&lt;img [^\n]*?src=&#34;([^\n]*?)&#34;[^\n]*?&gt;`)

// withHTML adds the text as HTML for those who ask for it. Only pictures are
// rendered: attachments get their signed address, as GitHub gives it.
func withHTML(c *call, shape object) object {
	accept := c.r.Header.Get("Accept")
	if !strings.Contains(accept, "full+json") && !strings.Contains(accept, "html+json") {
		return shape
	}
	body, _ := shape["body"].(string)
	shape["body_html"] = "<p>" + shownImage().ReplaceAllStringFunc(html.EscapeString(body), func(m string) string {
		sub := shownImage().FindStringSubmatch(m)
		src := html.UnescapeString(sub[2] + sub[3])
		if a := c.s.attachment(strings.TrimPrefix(src, c.s.url+AttachmentPath)); a != nil {
			src = c.s.url + signed(a)
		}
		return fmt.Sprintf(`<img alt="%s" src="%s">`, sub[1], html.EscapeString(src))
	}) + "</p>"
	return shape
}
