// Package githubcheck renders text with GitHub's own code: its parser (Debian's
// cmark-gfm, through ruby-commonmarker) and its published filters (ruby-html-pipeline),
// in a Ruby process. Tests use it as the reference for posts and for visible text. It is
// not part of the program.
package githubcheck

import (
	"bufio"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

//go:embed show.rb
var script string

// Shown is GitHub's rendering of one text.
type Shown struct {
	HTML       string   `json:"html"`       // as sent to a browser, with links for mentions
	Visible    string   `json:"visible"`    // its text, including code and collapsed parts
	Collapsed  []string `json:"collapsed"`  // texts of the details elements that are not open
	Images     []string `json:"images"`     // URLs of images
	Alt        []string `json:"alt"`        // texts of images
	Titles     []string `json:"titles"`     // shown when the pointer hovers
	Links      []Link   `json:"links"`      // except mentions
	Mentions   []string `json:"mentions"`   // kim, org/team
	Raw        []string `json:"raw"`        // source text parsed as HTML
	Elements   []string `json:"elements"`   // elements of Raw that the sanitizer keeps
	Closing    []string `json:"closing"`    // "Closes #1", outside code
	References []string `json:"references"` // #1, owner/repo#1, GH-1, owner@0123abc, outside code and links
	Error      string   `json:"error"`
}

// Link is a link with its visible text.
type Link struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

// Hidden reports whether the link's text does not show its destination. A link within the
// page, as in footnotes, hides nothing.
func (l Link) Hidden() bool {
	if strings.HasPrefix(l.Href, "#") {
		return false
	}
	plain := func(s string) string {
		s = strings.TrimSuffix(strings.Trim(s, " \t\n"), "/")
		return strings.ToLower(unescape(strings.ReplaceAll(s, "&amp;", "&")))
	}
	href, text := plain(l.Href), plain(l.Text)
	return !slices.Contains([]string{text, "http://" + text, "https://" + text, "mailto:" + text}, href)
}

var percent = regexp.MustCompile(`(?:%[0-9A-Fa-f]{2})+`)

// unescape decodes percent-encoding, even in an otherwise invalid URL.
func unescape(s string) string {
	return percent.ReplaceAllStringFunc(s, func(run string) string {
		out := make([]byte, 0, len(run)/3)
		for i := 0; i < len(run); i += 3 {
			b, _ := hex.DecodeString(run[i+1 : i+3]) // percent matches hex digits only
			out = append(out, b...)
		}
		return string(out)
	})
}

// processes is the maximum number of parallel Ruby processes.
const processes = 2

// Judge is a pool of renderer processes. It is safe for concurrent use.
type Judge struct {
	free  chan *process
	mu    sync.Mutex
	begun int
}

type process struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// pool is the one of this test binary: each process takes a quarter of a second to start.
var pool = Judge{free: make(chan *process, processes)}

var installed = sync.OnceValue(func() error {
	out, err := exec.Command("ruby", "-e", "require 'commonmarker'; require 'sanitize'; require 'html/pipeline'").CombinedOutput()
	if err != nil {
		return fmt.Errorf("GitHub's renderer is not installed (apt-get install cmark-gfm ruby-html-pipeline ruby-commonmarker ruby-sanitize): %w\n%s", err, out)
	}
	return nil
})

// Start returns the judge of the test binary. Its processes start when they are needed, and
// end with the binary. If the Debian packages are missing, it skips the test. If required, a
// comma-separated list that tests take from HANDRAIL_REQUIRE_ENGINES, contains "renderer", it
// fails the test instead.
func Start(t testing.TB, required string) *Judge {
	t.Helper()
	if err := installed(); err != nil {
		if slices.Contains(strings.Split(required, ","), "renderer") {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: %v", err)
	}
	return &pool
}

// take returns an idle process, a new one if there may be more, or waits for one.
func (j *Judge) take() (*process, error) {
	select {
	case p := <-j.free:
		return p, nil
	default:
	}
	j.mu.Lock()
	more := j.begun < processes
	if more {
		j.begun++
	}
	j.mu.Unlock()
	if more {
		return begin()
	}
	return <-j.free, nil
}

func begin() (*process, error) {
	cmd := exec.Command("ruby", "-W0", "-e", script)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{in, bufio.NewReaderSize(out, 1<<20)}, nil
}

// batch is the maximum number of texts per request to a process.
const batch = 500

// Show returns GitHub's rendering of each text, in order. Equal texts are rendered once.
func (j *Judge) Show(t testing.TB, texts ...string) []Shown {
	t.Helper()
	place, each := map[string]int{}, []string(nil)
	for _, s := range texts {
		if _, known := place[s]; !known {
			place[s] = len(each)
			each = append(each, s)
		}
	}
	shown := j.show(t, each)
	all := make([]Shown, len(texts))
	for i, s := range texts {
		all[i] = shown[place[s]]
	}
	return all
}

func (j *Judge) show(t testing.TB, texts []string) []Shown {
	t.Helper()
	all := make([]Shown, len(texts))
	var wg sync.WaitGroup
	var failed sync.Map
	for at := 0; at < len(texts); at += batch {
		p, err := j.take()
		if err != nil {
			t.Fatalf("GitHub's renderer: %v", err)
		}
		to := min(at+batch, len(texts))
		wg.Go(func() {
			if err := p.show(texts[at:to], all[at:to]); err != nil {
				failed.Store(at, err)
			}
			j.free <- p
		})
	}
	wg.Wait()
	failed.Range(func(at, err any) bool {
		t.Fatalf("GitHub's renderer, texts from %v on: %v", at, err)
		return false
	})
	return all
}

func (p *process) show(texts []string, into []Shown) error {
	sent := make(chan error, 1)
	go func() {
		w := bufio.NewWriterSize(p.in, 1<<16)
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for i, s := range texts {
			if err := enc.Encode(map[string]any{"id": i, "text": s}); err != nil {
				sent <- err
				return
			}
		}
		sent <- w.Flush()
	}()
	for i := range texts {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		if err := json.Unmarshal(line, &into[i]); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		if into[i].Error != "" {
			return fmt.Errorf("%q: %s", texts[i], into[i].Error)
		}
	}
	return <-sent
}

var (
	issue = `(?:(?:[\w.-]+/[\w.-]+)?#\d+|\bGH-\d+|(?:https?://|\bwww\.)[^\s/]+/[\w.-]+/[\w.-]+/(?:issues|pull|discussions)/\d+)`
	// closing matches closing references in a commit message, in which nothing is code.
	closing = regexp.MustCompile(
		`(?i)(?:\b|_)(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?:\b|_+)[\s\p{Z}]*:?[\s\p{Z}]*` + issue,
	)
	runner  = regexp.MustCompile(`(?:^|[\n\r\v\f\x{85}\x{2028}\x{2029}])[\s\p{Z}\x{feff}]*::|##\[`)
	mention = regexp.MustCompile(`(?i)(?:^|[^\w])@[a-z0-9][a-z0-9-]*`)
)

// Closing lists the references in a commit message or a title that close an issue.
func Closing(message string) []string { return closing.FindAllString(message, -1) }

// Mentions lists the mentions in a commit message or a title.
func Mentions(message string) []string { return mention.FindAllString(message, -1) }

// Commands lists the text that an Actions runner interprets as commands when it is
// printed.
func Commands(text string) []string { return runner.FindAllString(text, -1) }
