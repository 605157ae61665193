package setup

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"sync"

	"github.com/handrail-bot/handrail/bot/ghapp/granted"
)

//go:embed page.html
var pageText string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// page serves /setup until the App exists, and only for the first browser with the
// printed code.
type page struct {
	granted.Choice

	keep func(granted.App) (files, error)
	end  context.CancelFunc

	mu      sync.Mutex
	code    string // as printed; empty once used
	browser string // cookie of the browser that used the code
	state   string // returned by GitHub; a new one for each use
	over    bool
	app     granted.App
}

func newPage(c granted.Choice, keep func(granted.App) (files, error), end context.CancelFunc) *page {
	return &page{Choice: c, keep: keep, end: end, code: rand.Text(), browser: rand.Text(), state: rand.Text()}
}

// shown is the data of a page. It contains no secrets.
type shown struct {
	granted.Choice

	Nonce, Wrong, App, Form, Manifest string
	Permissions                       []granted.Permission
	Files                             files
}

const cookie = "handrail_setup"

// ServeHTTP implements http.Handler.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "strict-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	got, err := r.Cookie(cookie)
	known := err == nil && same(got.Value, p.browser)
	switch code := r.URL.Query().Get("code"); {
	case r.Method != http.MethodGet || p.over:
		http.NotFound(w, r)
	case r.URL.Path == "/setup" && p.code != "" && same(code, p.code):
		p.code = ""
		http.SetCookie(
			w,
			&http.Cookie{
				Name:     cookie,
				Value:    p.browser,
				Path:     "/setup",
				HttpOnly: true,
				SameSite: http.SameSiteLaxMode,
				Secure:   secure(r),
			},
		)
		http.Redirect(w, r, "/setup", http.StatusSeeOther)
	case !known: //control:setup-by-code
		http.Error(
			w,
			"Open the address that handrail init printed, in one browser. It works once: for a new one start handrail init again.",
			http.StatusForbidden,
		)
	case r.URL.Path == "/setup":
		p.show(w, p.start(r))
	case r.URL.Path == "/setup/created":
		p.show(w, p.created(r, code))
	default:
		http.NotFound(w, r)
	}
}

// createdApp returns the App, and whether it exists.
func (p *page) createdApp() (granted.App, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.app, p.over
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// secure reports whether the browser uses TLS, to this server or to a proxy in front of
// it.
func secure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// start returns the page with the button.
func (p *page) start(r *http.Request) shown {
	scheme := "http://"
	if secure(r) {
		scheme = "https://"
	}
	manifest, err := p.Manifest(scheme + r.Host + "/setup/created")
	if err != nil {
		return shown{Wrong: err.Error()}
	}
	return shown{Choice: p.Choice, Permissions: p.Permissions(), Form: p.Form(p.state), Manifest: string(manifest)}
}

// created takes the new App from GitHub's redirect.
func (p *page) created(r *http.Request, code string) shown {
	if !same(r.URL.Query().Get("state"), p.state) { //control:setup-state
		return shown{Wrong: "This answer of GitHub's belongs to another request. Open /setup again."}
	}
	p.state = rand.Text() // valid only once
	app, err := p.Convert(r.Context(), code)
	if err == nil {
		var kept files
		if kept, err = p.keep(app); err == nil {
			p.app, p.over = app, true
			p.end()
			return shown{Choice: p.Choice, App: app.Page, Files: kept}
		}
		err = errors.Join(
			err,
			errors.New("the App is there, but its key was not kept: delete it on its page at GitHub, and begin again"),
		)
	}
	return shown{Wrong: err.Error()}
}

func (p *page) show(w http.ResponseWriter, s shown) {
	s.Nonce = rand.Text()
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+s.Nonce+"'; form-action "+p.Origin()+"; base-uri 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var out bytes.Buffer
	if err := pageTemplate().Execute(&out, s); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(out.Bytes()) // the browser may have disconnected
}
