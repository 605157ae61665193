package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/policy"
)

// Order is a text of a viewer for a session. It means the same as a comment in the
// session's thread.
type Order struct {
	ID      string // the same for a form that is sent twice
	Session *store.Session
	By      policy.Actor // zero for a local session
	Text    string
}

// maxOrder limits the text of an order.
const maxOrder = 32 << 10

// command hands a command on.
func (s *Server) command(w http.ResponseWriter, r *http.Request, v viewer) error {
	x, err := s.find(r, v)
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, 2*maxOrder)
	if err := r.ParseForm(); err != nil {
		s.problem(w, v, http.StatusBadRequest, "The form could not be read.")
		return nil
	}
	text, ok := orderText(r.PostForm)
	o := Order{Session: x, Text: text}
	if !v.May || s.cfg.Command == nil { //control:dashboard-read-only
		s.problem(w, v, http.StatusForbidden, "This dashboard is read-only.")
		return nil
	}
	if !ok { //control:dashboard-one-command
		const text = "This would be another command than that of the button. Write it in the thread."
		s.problem(w, v, http.StatusBadRequest, text)
		return nil
	}
	if o.Text == "" || len(o.Text) > maxOrder {
		s.problem(w, v, http.StatusBadRequest, "Write something, in at most 32,000 characters.")
		return nil
	}
	if !v.All {
		if o.By, err = s.of(r.Context(), v, x.Repo, true); err != nil { //control:dashboard-fresh-right
			return err
		}
		if !policy.Insider(o.By) {
			s.problem(w, v, http.StatusForbidden, "You have no right to this.")
			return nil
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s\n%s\n%s", v.ID, x.ID, r.PostForm.Get("nonce"), o.Text))
	o.ID = hex.EncodeToString(sum[:12]) //control:dashboard-sent-once
	if err := s.cfg.Command(r.Context(), o); err != nil {
		return err
	}
	http.Redirect(w, r, "/s/"+url.PathEscape(x.ID)+"?sent="+url.QueryEscape(line(o.Text, 120)), http.StatusSeeOther)
	return nil
}

// orderText returns the text of a form: a button's command, with the words of a field
// that goes with it, or the text of the box. It reports false for a button whose words,
// which may be the agent's, would make another command.
func orderText(form url.Values) (text string, ok bool) {
	text = strings.ReplaceAll(strings.TrimSpace(form.Get("text")), "\r\n", "\n")
	do, choice := strings.TrimSpace(form.Get("do")), form.Get("choice")
	switch {
	case choice != "":
		return choice, !strings.ContainsAny(choice, "\r\n") && !strings.Contains(strings.ToLower(choice), "/agent")
	case do == "":
		return text, true
	}
	return strings.TrimSpace("/agent " + do + " " + text), !strings.ContainsFunc(do+text, unicode.IsControl)
}
