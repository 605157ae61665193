package doctor

import (
	"bytes"
	"context"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/gitops"
)

// The test of a task fails as long as that is not done, and passes once it is, with its own
// test in place of the result's.
func TestTasks(t *testing.T) {
	for _, tt := range []struct {
		task, file, old, new string
		want                 bool
	}{
		{"setting", "server.conf", "", "", false},
		{"setting", "server.conf", "8080", "9090", true},
		{"setting", "server.conf", "8080\n", "9090", false},
		{"setting", "server.conf", "timeout = 30\n", "", false},
		{"setting", "test.sh", "exit 1", "exit 0", false},
		{"setting", "server.conf", "name = clock\nhost = 0.0.0.0\nport = 8080\ntimeout = 30\n", "port = 9090\n", false},
		{"word", "greet.sh", "", "", false},
		{"word", "greet.sh", "$persom", "$person", true},
		{"word", "greet.sh", "$persom", "${person}", true},
		{"word", "greet.sh", "\"Hello, $persom\"", "\"Hello, $1\"", false},
		{"word", "greet.sh", "person=$1", "persom=$1", false},
		{"word", "greet.sh", "  exit 2\nfi\necho \"Hello, $persom", "  exit 2\necho \"Hello, $person", false},
		{"line", "prices.csv", "", "", false},
		{"line", "prices.csv", "cherries,9\n", "cherries,9\npears,4\n", true},
		{"line", "prices.csv", "plums", "pears,4\nplums", true},
		{"line", "prices.csv", "apples,3", "pears,4", false},
		{"line", "prices.csv", "item", "pears,4\nitem", false},
	} {
		var task task
		for _, is := range tasks {
			if is.name == tt.task {
				task = is
			}
		}
		dir := t.TempDir()
		repo, base, err := task.repository(t.Context(), filepath.Join(dir, "repo"))
		if err != nil {
			t.Fatal(err)
		}
		files, err := task.files()
		if err != nil || !strings.Contains(string(files[tt.file]), tt.old) {
			t.Fatalf("%s: %q is not in %s: %v", tt.task, tt.old, tt.file, err)
		}
		changed := strings.Replace(string(files[tt.file]), tt.old, tt.new, 1)
		c, err := repo.Checkpoint(t.Context(), gitops.Checkpoint{Parent: base, Meta: gitops.Meta{Message: "m", Author: author}, Changes: []gitops.Change{
			{Path: tt.file, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(changed)), nil }},
		}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := task.solved(t.Context(), repo, c.ID, filepath.Join(dir, "result"))
		if err != nil || got != tt.want {
			t.Errorf("%s with %q for %q: %v, want %v (%v)", tt.task, tt.new, tt.old, got, tt.want, err)
		}
		gone, err := repo.Checkpoint(t.Context(), gitops.Checkpoint{Parent: base, Meta: gitops.Meta{Message: "m", Author: author}, Changes: []gitops.Change{{Path: tt.file, Delete: true}}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := task.solved(t.Context(), repo, gone.ID, filepath.Join(dir, "gone")); err != nil || got {
			t.Errorf("%s without %s: %v, %v", tt.task, tt.file, got, err)
		}
		if err := repo.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestConclude(t *testing.T) {
	rows := func(native, text, files int) []Row {
		return []Row{{Form: llm.FormNative, Solved: native}, {Form: llm.FormText, Solved: text}, {Form: llm.FormFiles, Solved: files}}
	}
	late := rows(0, 1, 1)
	late[0].Tasks = []Try{{Why: whyTime}}
	for _, tt := range []struct {
		name   string
		rows   []Row
		auto   llm.Form
		want   llm.Form
		advice string
	}{
		{"the one that solves most", rows(1, 3, 2), llm.FormFiles, llm.FormText, "`model: {form: text}` in handrail.yml, or `--form text` for run, chat and resume."},
		{"as many: the one to begin with", rows(3, 3, 3), llm.FormFiles, llm.FormFiles, "`auto` begins with it, too"},
		{"as many: the more capable one", rows(0, 2, 2), llm.FormNative, llm.FormText, "Take the form text"},
		{"as many: native for a large model", rows(2, 2, 2), llm.FormNative, llm.FormNative, "`auto` begins"},
		{"too few", rows(1, 1, 0), llm.FormFiles, llm.FormAuto, "In no form does this model solve two"},
		{"none", rows(0, 0, 0), llm.FormFiles, llm.FormAuto, "Take a larger one"},
		{"no time", late, llm.FormFiles, llm.FormAuto, "--time 10m gives more"},
	} {
		r := Trial{Forms: tt.rows, Auto: tt.auto}
		r.conclude()
		if r.Best != tt.want || r.OK != (tt.want != "") || len(r.Advice) != 1 || !strings.Contains(r.Advice[0], tt.advice) {
			t.Errorf("%s: %q, %v", tt.name, r.Best, r.Advice)
		}
	}
}

func TestSay(t *testing.T) {
	r := Trial{
		Model: "m\x1b[1m", Auto: llm.FormFiles, Parameters: 494032768, ContextLength: 32768, LoadSeconds: 1.2,
		Forms: []Row{
			{Form: llm.FormNative, LeftOut: "the server says that the model calls no tools"},
			{Form: llm.FormText, Tried: 2, Solved: 1, Seconds: 40, PerSecond: 37, FirstWord: 21.3, Tasks: []Try{{}, {}, {Why: whyTime}}},
			{Form: llm.FormFiles, Tried: 3, Solved: 3, Seconds: 12.3, FirstWord: 2, Waited: 7},
		},
	}
	r.conclude()
	var b bytes.Buffer
	SayTrial(&door.Console{Out: &b, Width: 200}, r)
	const want = `model m\u001b[1m: 494 million parameters, made for 32768 tokens, no tools, loaded in 1.2 s
form    solved  seconds  tokens/s  first word
native  not tried: the server says that the model calls no tools
text    1 of 3  40.0     37.0      21.3 s  the time was over
files   3 of 3  12.3     –         > 7.0 s
`
	if got, _, _ := strings.Cut(b.String(), "→"); cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
}

// slow is a model that takes time by a clock of its own.
type slowTrial struct {
	llm.Model
	now *time.Time
}

func (s slowTrial) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		*s.now = s.now.Add(9 * time.Second)
		if !yield(llm.Part{Content: "one"}, nil) {
			return
		}
		*s.now = s.now.Add(2 * time.Second)
		yield(llm.Part{Done: true, AnswerTokens: 50}, nil)
	}
}

// silent is a model of which no word comes.
type silent struct {
	llm.Model
	now *time.Time
}

func (s silent) Stream(context.Context, llm.Request) iter.Seq2[llm.Part, error] {
	return func(yield func(llm.Part, error) bool) {
		*s.now = s.now.Add(30 * time.Second)
		yield(llm.Part{}, context.DeadlineExceeded)
	}
}

func TestMeter(t *testing.T) {
	now := time.Unix(0, 0)
	m := &meter{Model: slowTrial{now: &now}, now: func() time.Time { return now }}
	for range 3 {
		for range m.Stream(t.Context(), llm.Request{}) {
			continue
		}
	}
	if perSecond, first, waited := m.figures(); perSecond != 25 || first != 9 || waited != 0 {
		t.Errorf("%v tokens a second, first word after %v s, none after %v s", perSecond, first, waited)
	}
	mute := &meter{Model: silent{now: &now}, now: m.now}
	for range mute.Stream(t.Context(), llm.Request{}) {
		continue
	}
	if m.mute() || !mute.mute() {
		t.Errorf("mute: %v, %v", m.mute(), mute.mute())
	}
	if perSecond, first, waited := mute.figures(); perSecond != 0 || first != 0 || waited != 30 {
		t.Errorf("silent: %v tokens a second, first word after %v s, none after %v s", perSecond, first, waited)
	}
}

func TestRoles(t *testing.T) {
	for name, tt := range map[string]struct {
		show string
		want bool
	}{
		"bare":              {`{"template":"{{ .Prompt }}"}`, false},
		"with instructions": {`{"template":"{{ .System }} {{ .Prompt }}"}`, true},
		"of messages":       {`{"template":"{{ range .Messages }}<{{ .Role }}>{{ .Content }}{{ end }}"}`, true},
		"of the server":     {`{"template":"{{ .Prompt }}","renderer":"qwen3-coder"}`, true},
		"elsewhere":         {`{"template":"{{ .Prompt }}","remote_host":"https://ollama.com"}`, true},
		"not shown":         {`{}`, true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); r.URL.Path != "/api/show" || string(body) != `{"model":"m"}` {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, tt.show)
		}))
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Show(t.Context(), server.Client(), u.JoinPath("api", "show"), "m")
		if err != nil || s.KnowsRoles() != tt.want {
			t.Errorf("%s: %v, %v", name, s.KnowsRoles(), err)
		}
		if _, err := Show(t.Context(), server.Client(), u.JoinPath("api", "show"), "other"); err == nil {
			t.Errorf("%s: a model that is not there", name)
		}
		server.Close()
	}
	r := Trial{Model: "mine"}
	r.ReportNoRoles(ModelInfo{Template: "{{ .Prompt }}"})
	if !r.NoRoles || !strings.Contains(r.Advice[0], "`FROM mine`") || !strings.Contains(r.Advice[0], "ollama create mine -f Modelfile") {
		t.Errorf("%+v", r)
	}
}
