package work

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/agent/mcp"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/longtest"
)

// serverScript is an MCP server in shell. It notes that it ran in $RAN.
const serverScript = `echo ran >>"$RAN"
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"jsonrpc":"2.0","id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"server/discover"'*) say '"error":{"code":-32601,"message":"no"}' ;;
  *'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"n","version":"1"},"capabilities":{"tools":{}}}' ;;
  *'"method":"tools/list"'*) say '"result":{"tools":['"$(cat tools.json)"']}' ;;
  *'"method":"tools/call"'*) echo called >called.txt; say '"result":{"content":[{"type":"text","text":"it is done"}]}' ;;
  esac
done
`

const oneTool = `{"name":"note","description":"Takes a note.","inputSchema":{"type":"object"}}`

// newServersTrial is a repository that proposes a server. ran is the file that it writes
// when it runs.
func newServersTrial(t *testing.T) (s *setUpTrial, ran string) {
	t.Helper()
	s = newSetUpTrial(t)
	ran = filepath.Join(t.TempDir(), "ran")
	s.base = s.commit(map[string]string{"server.sh": serverScript, "tools.json": oneTool})
	s.rules = policy.Config{MCP: policy.Servers{Servers: map[string]policy.Server{
		"notes": {Command: "sh", Args: []string{"server.sh"}, Env: map[string]string{"RAN": ran}, Proposed: true},
	}}}
	return s, ran
}

// serve begins a run of a job with its servers. The hub is closed with the test.
func (s *setUpTrial) serve(j Job) (*mcp.Hub, *session.Outcome, *session.State) {
	s.t.Helper()
	e, ctx := s.engine(), s.t.Context()
	for {
		at, err := stateOf(ctx, j.Log, j.Task)
		if err != nil {
			s.t.Fatal(err)
		}
		serves, use, waits, err := e.servers(ctx, j, at)
		if err != nil {
			s.t.Fatal(err)
		}
		var hub *mcp.Hub
		if waits == nil {
			ws, end, err := e.open(ctx, j, at, heldLayer{})
			if err != nil {
				s.t.Fatal(err)
			}
			if hub, waits, err = serves.connect(ctx, ws, use); err != nil {
				s.t.Fatal(err)
			}
			s.t.Cleanup(func() {
				hub.Close()
				if err := end(ctx); err != nil {
					s.t.Error(err)
				}
			})
		}
		if waits != nil && waits.Status == session.StatusMoved {
			continue
		}
		events, err := j.Log.Events(ctx, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		if found, err := session.Violations(events); err != nil || len(found) > 0 {
			s.t.Errorf("the log has %q, %v", found, err)
		}
		state, err := session.Fold(events)
		if err != nil {
			s.t.Fatal(err)
		}
		return hub, waits, state
	}
}

// toolsIn lists the tools of a hub, as SERVER.TOOL.
func toolsIn(h *mcp.Hub) (out []string) {
	if h == nil {
		return nil
	}
	for _, s := range h.Servers() {
		for _, one := range s.Tools {
			out = append(out, s.Name+"."+one.Name)
		}
	}
	return out
}

func unusedIn(at *session.State) string {
	var out []string
	for _, m := range at.Timeline {
		if n, ok := m.(*session.Note); ok && n.Kind == session.NoteServers {
			out = append(out, n.Text)
		}
	}
	return strings.Join(out, "\n")
}

func runs(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "ran")
}

// TestProposedServer: a repository's server runs only after a yes, which holds for all
// sessions until anything about it changes.
func TestProposedServer(t *testing.T) {
	s, ran := newServersTrial(t)
	j := s.job()
	j.Approver = nil
	if hub, waits, at := s.serve(j); waits == nil || waits.Status != session.StatusAwaitingApproval || hub != nil || len(at.Open()) != 1 || runs(t, ran) != 0 {
		t.Fatalf("unasked: %v, %+v, %+v, %d runs", toolsIn(hub), waits, at.Open(), runs(t, ran))
	}
	j.Approver = s.people
	hub, waits, at := s.serve(j)
	if waits != nil || !slices.Equal(toolsIn(hub), []string{"notes.note"}) || runs(t, ran) != 1 || len(at.Servers) != 1 || len(at.Granted()) != 0 {
		t.Fatalf("after a yes: %v, %+v, %d runs, %+v", toolsIn(hub), waits, runs(t, ran), at.Servers)
	}
	a := s.people.asked[0]
	for _, part := range []string{"server: notes\ncommand: sh server.sh\nvariable: RAN=", "it runs in the workspace: copies, network: none", "each call of its tools is asked about by itself", "or its tools as it lists them at first"} {
		if !strings.Contains(a.Display, part) {
			t.Errorf("%q is missing in\n%s", part, a.Display)
		}
	}
	if a.Tool != session.ProposedServer || a.Server != "notes" || a.Severity != "high" {
		t.Errorf("asked %+v", a)
	}
	if res, err := hub.Call(t.Context(), mcp.Call{Server: "notes", Tool: "note"}); err != nil || res.Text != "it is done" || !hub.Busy() {
		t.Errorf("called: %+v, %v", res, err)
	}
	if hub, _, _ := s.serve(s.job()); len(s.people.asked) != 1 || !slices.Equal(toolsIn(hub), []string{"notes.note"}) {
		t.Errorf("the next session: %v, %d asked", toolsIn(hub), len(s.people.asked))
	}
	one := s.rules.MCP.Servers["notes"]
	for name, change := range map[string]func(*policy.Server){
		"arguments":     func(p *policy.Server) { p.Args = []string{"server.sh", "-v"} },
		"the command":   func(p *policy.Server) { p.Command = "dash" },
		"a variable":    func(p *policy.Server) { p.Env = map[string]string{"RAN": ran, "MORE": "1"} },
		"its value":     func(p *policy.Server) { p.Env = map[string]string{"RAN": ran + "2"} },
		"the directory": func(p *policy.Server) { p.Cwd = "sub" },
		"its tools":     func(p *policy.Server) { p.Tools.Allow = []string{"note"} },
		"the image":     func(*policy.Server) { s.rules.Workspace.Image = "other:1" },
		"the network":   func(*policy.Server) { s.rules.Workspace = policy.Workspace{Network: "open"} },
	} {
		changed := one
		change(&changed)
		s.rules.MCP.Servers = map[string]policy.Server{"notes": changed}
		before := len(s.people.asked)
		if at, err := stateOf(t.Context(), j.Log, j.Task); err != nil {
			t.Fatal(err)
		} else if _, _, _, err := s.engine().servers(t.Context(), j, at); err != nil || len(s.people.asked) != before+1 {
			t.Errorf("with %s changed, %d more were asked, %v", name, len(s.people.asked)-before, err)
		}
		s.rules.Workspace = policy.Workspace{}
	}
}

// TestServerDenied: a no holds for all sessions; the server never runs.
func TestServerDenied(t *testing.T) {
	s, ran := newServersTrial(t)
	s.people.says = policy.Denied
	for range 2 {
		hub, waits, at := s.serve(s.job())
		if waits != nil || len(toolsIn(hub)) != 0 || runs(t, ran) != 0 || len(s.people.asked) != 1 || !strings.Contains(unusedIn(at), "The MCP server notes is not used: kim denied it, which holds until it changes.") {
			t.Errorf("%v, %+v, %d runs, %d asked: %s", toolsIn(hub), waits, runs(t, ran), len(s.people.asked), unusedIn(at))
		}
	}
	s.rules.MCP.Servers["web"] = policy.Server{URL: "https://docs.example/mcp", Proposed: true}
	if _, _, at := s.serve(s.job()); len(s.people.asked) != 1 || !strings.Contains(unusedIn(at), "The MCP server web is not used: its host is not on mcp.hosts") {
		t.Errorf("a URL: %d asked, %s", len(s.people.asked), unusedIn(at))
	}
}

// TestToolsArePinned: other tools than those of the first start are asked about, with
// their names; within a session they are refused.
func TestToolsArePinned(t *testing.T) {
	longtest.Leave(t)
	s, _ := newServersTrial(t)
	old := s.job()
	s.serve(old)
	s.base = s.commit(map[string]string{"tools.json": oneTool + `,{"name":"send","description":"Sends <it>.","inputSchema":{"type":"object"}}`})
	s.people.says = policy.Denied
	hub, _, at := s.serve(s.job())
	if len(toolsIn(hub)) != 0 || len(s.people.asked) != 2 || !strings.Contains(unusedIn(at), "kim denied it") {
		t.Fatalf("denied: %v, %d asked, %s", toolsIn(hub), len(s.people.asked), unusedIn(at))
	}
	if a := s.people.asked[1]; !strings.Contains(a.Display, "no longer those that were approved") || !strings.Contains(a.Display, "tool: note: Takes a note.\ntool: send: Sends <it>.\n") || a.Digest == s.people.asked[0].Digest {
		t.Errorf("asked %+v", a)
	}
	if hub, _, _ := s.serve(s.job()); len(toolsIn(hub)) != 0 || len(s.people.asked) != 2 {
		t.Errorf("the denial does not hold: %v, %d asked", toolsIn(hub), len(s.people.asked))
	}
	s.people.says = policy.Approved
	s.base = s.commit(map[string]string{"tools.json": oneTool + `,{"name":"send","description":"Sends <it>.","inputSchema":{"type":"object","required":["key"]}}`})
	for range 2 {
		hub, _, at := s.serve(s.job())
		if !slices.Equal(toolsIn(hub), []string{"notes.note", "notes.send"}) || len(s.people.asked) != 3 || len(at.Granted()) != 0 {
			t.Errorf("approved: %v, %d asked", toolsIn(hub), len(s.people.asked))
		}
	}
}

// TestOperatorsServers: they are used without a question; one that does not start is a
// line, and the others go on. The local engine runs no proposals.
func TestOperatorsServers(t *testing.T) {
	longtest.Leave(t)
	s, ran := newServersTrial(t)
	one := s.rules.MCP.Servers["notes"]
	one.Proposed, one.Tools.Deny = false, []string{"other"}
	s.rules.MCP.Servers = map[string]policy.Server{"notes": one, "dead": {Command: "no-such-program"}, "web": {URL: "https://web.example/mcp"}}
	s.rules.MCP.Unfit = []string{"The MCP server odd of .mcp.json is not used: so it is."}
	var reached []string
	e := s.engine()
	e.cfg.Servers = func(name string, m policy.Server) (http.RoundTripper, error) {
		reached = append(reached, name+" "+m.URL)
		return http.DefaultTransport, nil
	}
	j := s.job()
	at, err := stateOf(t.Context(), j.Log, j.Task)
	if err != nil {
		t.Fatal(err)
	}
	serves, use, waits, err := e.servers(t.Context(), j, at)
	if err != nil || waits != nil || len(use) != 3 || len(s.people.asked) != 0 {
		t.Fatalf("%d used, %+v, %v", len(use), waits, err)
	}
	use = slices.DeleteFunc(use, func(s server) bool { return s.name == "web" })
	if _, err := serves.reachServer(server{name: "web", Server: s.rules.MCP.Servers["web"]}); err != nil || !slices.Equal(reached, []string{"web https://web.example/mcp"}) {
		t.Errorf("reached %q, %v", reached, err)
	}
	ws, end, err := e.open(t.Context(), j, at, heldLayer{})
	if err != nil {
		t.Fatal(err)
	}
	hub, _, err := serves.connect(t.Context(), ws, use)
	if err != nil || !slices.Equal(toolsIn(hub), []string{"notes.note"}) || runs(t, ran) != 1 {
		t.Errorf("%v, %v", toolsIn(hub), err)
	}
	hub.Close()
	if err := end(t.Context()); err != nil {
		t.Error(err)
	}
	if said := unusedIn(at); !strings.Contains(said, "odd of .mcp.json") || !strings.Contains(said, "The MCP server dead is not used: ") {
		t.Errorf("said %q", said)
	}
	plan := s.job()
	plan.Task.Mode = "plan"
	if _, use, _, err := e.servers(t.Context(), plan, &session.State{Task: plan.Task}); len(use) != 0 || err != nil {
		t.Errorf("in plan mode %d are used, %v", len(use), err)
	}
	s.rules.MCP.Servers = map[string]policy.Server{"notes": {Command: "sh", Proposed: true}}
	e = s.engine()
	e.cfg.Workspace = unwalled{}
	serves, use, _, err = e.servers(t.Context(), s.job(), &session.State{Task: s.job().Task})
	if err != nil || len(use) != 0 || len(s.people.asked) != 0 || !strings.Contains(strings.Join(serves.unused, ""), "has no wall") {
		t.Errorf("without a wall: %v, %q, %v", use, serves.unused, err)
	}
}

type unwalled struct{ copies }

func (unwalled) Name() string { return "local" }

// TestProposedLanguageServer: a repository's language server is used only after a yes, which holds
// for all sessions until anything about it changes. A mode that only reads does not ask.
func TestProposedLanguageServer(t *testing.T) {
	s := newSetUpTrial(t)
	s.base = s.commit(map[string]string{"a.ex": "x\n"})
	one := policy.LanguageServer{Name: "elixir", Command: []string{"sh", "lsp.sh"}, Extensions: []string{"ex"}, Proposed: true}
	set := func(list ...policy.LanguageServer) { s.rules.LanguageServers = list }
	set(policy.LanguageServer{Name: "mine", Command: []string{"sh"}, Extensions: []string{"mine"}}, one)
	used := func(j Job) (out []string, at *session.State, waits *session.Outcome) {
		t.Helper()
		at, err := stateOf(t.Context(), j.Log, j.Task)
		if err != nil {
			t.Fatal(err)
		}
		serves, use, waits, err := s.engine().servers(t.Context(), j, at)
		if err != nil {
			t.Fatal(err)
		}
		if waits == nil {
			hub, _, err := serves.connect(t.Context(), place{}, use)
			if err != nil || len(hub.Servers()) != 0 {
				t.Fatalf("%+v, %v", hub.Servers(), err)
			}
		}
		for _, l := range languageServers(s.rules, use) {
			out = append(out, l.Name+" "+strings.Join(l.Command, " "))
		}
		if at, err = stateOf(t.Context(), j.Log, j.Task); err != nil {
			t.Fatal(err)
		}
		return out, at, waits
	}
	reads := s.job()
	reads.Task.Mode = "plan"
	if got, _, waits := used(reads); !slices.Equal(got, []string{"mine sh"}) || waits != nil || len(s.people.asked) != 0 {
		t.Errorf("in plan mode: %q, %+v, %d asked", got, waits, len(s.people.asked))
	}
	j := s.job()
	j.Approver = nil
	if got, at, waits := used(j); waits == nil || waits.Status != session.StatusAwaitingApproval || len(at.Open()) != 1 || len(got) != 1 {
		t.Fatalf("unasked: %q, %+v", got, waits)
	}
	j.Approver = s.people
	both := []string{"mine sh", "elixir sh lsp.sh"}
	if got, at, waits := used(j); waits != nil || !slices.Equal(got, both) || len(at.Granted()) != 0 || len(at.Open()) != 0 {
		t.Fatalf("after a yes: %q, %+v", got, waits)
	}
	a := s.people.asked[0]
	if a.Tool != session.ProposedLanguageServer || a.Server != "elixir" || a.Severity != "high" || !a.OfRepository() {
		t.Errorf("asked %+v", a)
	}
	const shown = "language server: elixir\ncommand: sh lsp.sh\nfiles: ex\n\n# it runs in the workspace: copies, network: none\n"
	if !strings.HasPrefix(a.Display, shown) {
		t.Errorf("shown is\n%s", a.Display)
	}
	for _, mode := range []string{"", "plan"} {
		next := s.job()
		next.Task.Mode = cmp.Or(mode, next.Task.Mode)
		if got, _, _ := used(next); !slices.Equal(got, both) || len(s.people.asked) != 1 {
			t.Errorf("the next session %q: %q, %d asked", mode, got, len(s.people.asked))
		}
	}
	s.people.says = policy.Denied
	for name, change := range map[string]func(*policy.LanguageServer){
		"the command":    func(l *policy.LanguageServer) { l.Command = []string{"sh", "other.sh"} },
		"the extensions": func(l *policy.LanguageServer) { l.Extensions = []string{"ex", "go"} },
		"the network":    func(*policy.LanguageServer) { s.rules.Workspace = policy.Workspace{Network: "open"} },
		"the image":      func(*policy.LanguageServer) { s.rules.Workspace.Image = "other:1" },
	} {
		changed := one
		change(&changed)
		set(changed)
		before := len(s.people.asked)
		for range 2 {
			got, at, _ := used(s.job())
			if len(got) != 0 || len(s.people.asked) != before+1 || !strings.Contains(unusedIn(at), "The language server elixir is not used: kim denied it") {
				t.Errorf("with %s changed: %q, %d more were asked: %s", name, got, len(s.people.asked)-before, unusedIn(at))
			}
		}
		s.rules.Workspace = policy.Workspace{}
	}
	set(one)
	e := s.engine()
	e.cfg.Workspace = unwalled{}
	serves, use, _, err := e.servers(t.Context(), s.job(), &session.State{Task: s.job().Task})
	if err != nil || len(use) != 0 || !strings.Contains(strings.Join(serves.unused, ""), "The language server elixir is not used: this workspace has no wall") {
		t.Errorf("without a wall: %v, %q, %v", use, serves.unused, err)
	}
}

// TestServersInTheLog: definitions lose the server's secrets before they are recorded.
func TestServersInTheLog(t *testing.T) {
	s, _ := newServersTrial(t)
	s.base = s.commit(map[string]string{"tools.json": strings.ReplaceAll(oneTool, "Takes a note.", "Use "+canary+" for it.")})
	_, _, at := s.serve(s.job())
	data, err := json.Marshal(at.Servers)
	if err != nil || len(at.Servers) != 1 || strings.Contains(string(data), canary) {
		t.Errorf("%s, %v", data, err)
	}
}

// TestUnfitTools: tools whose schemas cannot be used are told, in one line.
func TestUnfitTools(t *testing.T) {
	s, _ := newServersTrial(t)
	list := []string{oneTool}
	for _, name := range "abcdefg" {
		list = append(list, strings.NewReplacer(`"note"`, `"`+string(name)+`"`, `"type":"object"`, `"$ref":"#"`).Replace(oneTool))
	}
	s.base = s.commit(map[string]string{"tools.json": strings.Join(list, ",")})
	hub, _, at := s.serve(s.job())
	const want = "Of the MCP server notes are not offered, since the schema of its arguments cannot be used: a, b, c, d, e and 2 more."
	if got := unusedIn(at); got != want || !slices.Equal(toolsIn(hub), []string{"notes.note"}) {
		t.Errorf("%q, %q", got, toolsIn(hub))
	}
}

// TestAnswered: an answer counts for the next call that is the same, once.
func TestAnswered(t *testing.T) {
	log := &session.Memory{}
	call := func(id, args string) session.Call {
		return session.Call{ID: id, Name: "use_mcp_tool", Arguments: json.RawMessage(args)}
	}
	add := func(kind session.Type, payload any) {
		t.Helper()
		if err := log.Append(t.Context(), session.NewEvent(kind, 1, payload)); err != nil {
			t.Fatal(err)
		}
	}
	given := func(c session.Call, question string) string {
		t.Helper()
		answer, ok, err := answered(log)(t.Context(), c, question)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(answer, ok)
	}
	add(session.TypeAnswer, session.Answer{Calls: []session.Call{call("1", `{"a":1}`), call("2", `{"a":1}`), call("3", `{"a":2}`), call("4", `{"a":1}`)}})
	add(session.TypeStarted, session.Started{Call: "1"})
	add(session.TypeAsked, session.Asked{ID: "q1", Kind: session.AskQuestion, Call: "1", Server: "travel", Display: "How many?"})
	if got := given(call("2", ""), "How many?"); got != "false" {
		t.Errorf("before the answer: %s", got)
	}
	add(session.TypeResolved, session.Resolved{ID: "q1", Verdict: policy.Answered, Reason: "3"})
	add(session.TypeStarted, session.Started{Call: "2"})
	for _, c := range []struct{ id, question, want string }{{"2", "How many?", "3true"}, {"2", "How much?", "false"}, {"3", "How many?", "3false"}, {"1", "How many?", "3false"}} {
		if got := given(call(c.id, ""), c.question); got != c.want {
			t.Errorf("call %s, %s: %s, want %s", c.id, c.question, got, c.want)
		}
	}
	add(session.TypeStarted, session.Started{Call: "4"})
	if got := given(call("4", ""), "How many?"); got != "3false" {
		t.Errorf("a second time: %s", got)
	}
}

// TestServersFile: the base branch's .mcp.json adds proposals.
func TestServersFile(t *testing.T) {
	s, _ := newServersTrial(t)
	base := s.commit(map[string]string{".mcp.json": `{"mcpServers":{"docs":{"command":"node","args":["docs.js"]},"key":{"command":"x","env":{"A":"${SECRET}"}}}}`})
	cfg, err := ReadConfig(t.Context(), s.repo, base)
	if err != nil || len(cfg.MCP.Servers) != 1 || !cfg.MCP.Servers["docs"].Proposed || len(cfg.MCP.Unfit) != 1 {
		t.Errorf("%+v, %v", cfg.MCP, err)
	}
}
