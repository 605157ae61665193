package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/session"
)

// templates returns the parsed templates.
var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"line":   func(s string) string { return line(s, 300) },
		"show":   show,
		"clock":  func(t time.Time) string { return t.UTC().Format("15:04:05") },
		"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"mark":   func(s session.TodoStatus) string { return line(string(s), 20) },
		"count":  count,
		"plural": plural,
		"word":   word,
		"page":   func(after int64) int64 { return (after - 1) / storyPage * storyPage },
	}).ParseFS(assets, "assets/*.html")
})

// Sheet is a page of tables. Tables returns them for a viewer who can read the
// repositories that reads reports.
type Sheet struct {
	Path, Title string
	Tables      func(ctx context.Context, reads func(repository string) (bool, error)) ([]Table, error)
	// Test checks a text of the viewer, and returns its problems. nil means that the page has
	// no box for one. Example is the text that the box begins with.
	Test    func(text string) []string
	Example string
	// Operators limits the page to viewers on the server's own machine, and to the listed
	// accounts.
	Operators []int64
	Limited   bool
}

// Table is a part of a [Sheet].
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Note  string // shown without rows, or below them
}

// frame is the data of every page.
type frame struct {
	Title, Now string
	Sheets     []Sheet
	Login      bool
	Viewer     viewer
}

func (s *Server) frame(v viewer, title string) frame {
	f := frame{Title: title, Now: s.cfg.Now().UTC().Format("15:04 UTC"), Login: s.cfg.Login != nil && v.ID != 0, Viewer: v}
	for _, sheet := range s.cfg.Sheets {
		if sheet.shows(v) {
			f.Sheets = append(f.Sheets, sheet)
		}
	}
	return f
}

func (sh Sheet) shows(v viewer) bool {
	return !sh.Limited || v.All || v.ID != 0 && slices.Contains(sh.Operators, v.ID) //control:dashboard-operators
}

// begin writes the top of a page.
func (s *Server) begin(w http.ResponseWriter, v viewer, title, name string, data any) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := s.write(w, "top", s.frame(v, title)); err != nil {
		return err
	}
	err := s.write(w, name, data)
	flush(w)
	return err
}

// page writes a whole page.
func (s *Server) page(w http.ResponseWriter, v viewer, title, name string, data any) error {
	if err := s.begin(w, v, title, name, data); err != nil {
		return err
	}
	return s.write(w, "foot", nil)
}

func (s *Server) write(w io.Writer, name string, data any) error {
	t, err := templates()
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, name, data)
}

// html renders a part of a page.
func (s *Server) html(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := s.write(&b, name, data)
	return b.Bytes(), err
}

func flush(w io.Writer) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// problem writes a page with one sentence.
func (s *Server) problem(w http.ResponseWriter, v viewer, status int, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	for _, part := range []struct {
		name string
		data any
	}{{"top", s.frame(v, "Handrail")}, {"problem", text}, {"foot", nil}} {
		if s.write(w, part.name, part.data) != nil {
			return // the browser is gone
		}
	}
}

// welcome asks for a login, or for the one-time address.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Login == nil {
		s.problem(w, viewer{}, http.StatusForbidden, "Open the address that the terminal shows; it works once.")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	back := "/"
	if r.Method == http.MethodGet {
		back = r.URL.RequestURI()
	}
	for _, part := range []struct {
		name string
		data any
	}{{"top", s.frame(viewer{}, "Log in")}, {"welcome", "/login?back=" + url.QueryEscape(back)}, {"foot", nil}} {
		if s.write(w, part.name, part.data) != nil {
			return
		}
	}
}

// asset serves the style sheet and the script.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind := map[string]string{
		".css": "text/css; charset=utf-8",
		".js":  "text/javascript; charset=utf-8",
		".svg": "image/svg+xml",
	}[path.Ext(name)]
	data, err := assets.ReadFile("assets/" + name)
	if kind == "" || err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(data) // the browser may be gone
}

// sheet returns the page of a path, if the viewer may see it.
func (s *Server) sheet(r *http.Request, v viewer) (Sheet, error) {
	for _, sheet := range s.cfg.Sheets {
		if sheet.Path == r.PathValue("sheet") && sheet.shows(v) {
			return sheet, nil
		}
	}
	return Sheet{}, errMissing
}

// sheetData is the data of a sheet's page.
type sheetData struct {
	Sheet
	Tables []Table
	Text   string
	Tested bool
	Found  []string
}

func (s *Server) sheetPage(w http.ResponseWriter, r *http.Request, v viewer) error {
	sheet, err := s.sheet(r, v)
	if err != nil {
		return err
	}
	return s.showSheet(w, r, v, sheetData{Sheet: sheet, Text: sheet.Example})
}

func (s *Server) showSheet(w http.ResponseWriter, r *http.Request, v viewer, d sheetData) (err error) {
	//nolint:contextcheck // the context is the request's
	reads := func(repository string) (bool, error) { return s.reads(r.Context(), v, repository) }
	d.Tables, err = d.Sheet.Tables(r.Context(), reads)
	if err != nil {
		return err
	}
	return s.page(w, v, d.Title, "sheet", d)
}

// sheetTest checks the text in a sheet's box. The script asks for the answer alone.
func (s *Server) sheetTest(w http.ResponseWriter, r *http.Request, v viewer) error {
	sheet, err := s.sheet(r, v)
	if err != nil {
		return err
	}
	if sheet.Test == nil {
		return errMissing
	}
	r.Body = http.MaxBytesReader(w, r.Body, 256<<10)
	if err := r.ParseForm(); err != nil {
		s.problem(w, v, http.StatusBadRequest, "The text is too long.")
		return nil
	}
	d := sheetData{Sheet: sheet, Text: r.PostForm.Get("text"), Tested: true}
	for _, text := range sheet.Test(d.Text) {
		d.Found = append(d.Found, show(text))
	}
	if r.Header.Get("Accept") == "text/plain" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := fmt.Fprint(w, strings.Join(d.Found, "\n"))
		return err
	}
	return s.showSheet(w, r, v, d)
}
