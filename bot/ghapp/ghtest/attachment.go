package ghtest

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
)

// attachment is a file that a person put into a text.
type attachment struct {
	id     string
	data   []byte
	public bool // in a public repository
	jwt    string
}

// attachments are all such files.
type attachments []*attachment

// Attach keeps a file as the web page does when it is dropped into a text, and
// returns the address that the page puts there. One that is not public is
// served only under the signed address in the text's HTML.
func (s *Server) Attach(data []byte, public bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.NextID()
	a := &attachment{id: fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n), data: data, public: public, jwt: fmt.Sprintf("eyJ%d", s.NextID())}
	s.attachments = append(s.attachments, a)
	return s.url + attachmentPath + a.id
}

const (
	attachmentPath = "/user-attachments/assets/"
	signedPath     = "/private-user-images/"
)

func (list attachments) find(id string) *attachment {
	for _, a := range list {
		if id != "" && strings.HasPrefix(id, a.id) {
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
	if id, ok := strings.CutPrefix(r.URL.Path, attachmentPath); ok {
		a := s.attachments.find(id)
		if a == nil || !a.public {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, a.signed(), http.StatusFound)
		return
	}
	a := s.attachments.find(strings.TrimPrefix(r.URL.Path, signedPath))
	if a == nil || r.URL.Query().Get("jwt") != a.jwt {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := w.Write(a.data); err != nil {
		s.log.Debug("write attachment", "err", err)
	}
}

func (a *attachment) signed() string { return signedPath + a.id + ".png?jwt=" + a.jwt }

var shownImage = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]+)\)|&lt;img [^\n]*?src=&#34;([^\n]*?)&#34;[^\n]*?&gt;`)

// withHTML adds the text as HTML for those who ask for it. Only pictures are
// rendered: attachments get their signed address, as GitHub gives it.
func withHTML(c *call, shape object) object {
	accept := c.r.Header.Get("Accept")
	if !strings.Contains(accept, "full+json") && !strings.Contains(accept, "html+json") {
		return shape
	}
	body, _ := shape["body"].(string)
	shape["body_html"] = "<p>" + shownImage.ReplaceAllStringFunc(html.EscapeString(body), func(m string) string {
		sub := shownImage.FindStringSubmatch(m)
		src := html.UnescapeString(sub[2] + sub[3])
		if a := c.s.attachments.find(strings.TrimPrefix(src, c.s.url+attachmentPath)); a != nil {
			src = c.s.url + a.signed()
		}
		return fmt.Sprintf(`<img alt="%s" src="%s">`, sub[1], html.EscapeString(src))
	}) + "</p>"
	return shape
}
