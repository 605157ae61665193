package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/mcp"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// server is an MCP server or a language server that a session may use.
type server struct {
	policy.Server
	name string
	lang *policy.LanguageServer // nil for an MCP server
	key  string                 // identifies all that is approved, besides the tools
	by   session.Resolved
}

// serving is the choice of the servers at the start of a run. Those of the operator are
// used; a repository's only after an approval.
type serving struct {
	*asking
	image    string   // name of the workspace's image
	programs string   // identity of its programs
	unused   []string // lines about servers that are not used
}

// servers returns the servers that the session may use. If it asks for an approval of a
// repository's, waits is the outcome of the run.
func (e *Engine) servers(
	ctx context.Context,
	j Job,
	at *session.State,
) (r *serving, use []server, waits *session.Outcome, err error) {
	r = &serving{asking: e.asking(j, at), unused: slices.Clone(e.cfg.Rules.MCP.Unfit)}
	r.image = cmp.Or(j.image.Name, e.cfg.Rules.Workspace.Image)
	m, err := policy.ParseMode(at.ModeName())
	if err != nil {
		return r, nil, nil, err
	}
	calls := m.Allows(policy.MCP)
	if !calls {
		r.unused = nil
	}
	unfit, offers := r.unused, r.offers(calls)
	if len(offers)+len(unfit) == 0 {
		return r, nil, nil, nil
	}
	if engine, ok := e.cfg.Workspace.(workspace.Identified); ok &&
		slices.ContainsFunc(offers, func(s server) bool { return s.Proposed }) {
		r.programs, err = engine.Programs(
			ctx,
			workspace.Spec{Image: r.image, Pull: e.cfg.Rules.Pulls(r.image), Tell: j.OnSetup},
		)
		if err != nil {
			return r, nil, nil, err
		}
	}
	for {
		var ask []offer
		var asked []session.Asked
		use, r.unused = nil, slices.Clone(unfit)
		for _, s := range offers {
			s.key = contentID([]byte(r.facts(s)))
			now, q, err := r.judge(ctx, &s)
			if err != nil {
				return r, nil, nil, err
			}
			switch now {
			case usable:
				use = append(use, s)
			case waiting:
				asked = append(asked, q.Asked)
			case unasked:
				if calls {
					ask = append(ask, r.offer(s, nil))
				}
			}
		}
		switch {
		case len(ask) > 0 && !r.busy():
			if err := r.ask(ctx, ask...); err != nil {
				return r, nil, nil, err
			}
		case len(asked) > 0:
			settled, waits, err := r.wait(ctx, asked...)
			if !settled || err != nil {
				return r, nil, waits, err
			}
		default:
			return r, use, nil, nil
		}
	}
}

// offers returns the servers to choose from: the MCP servers if the mode has their calls, and
// the language servers that the repository proposes. In a mode without calls these are used if
// they are approved, and not asked about.
func (r *serving) offers(calls bool) (list []server) {
	for _, name := range slices.Sorted(maps.Keys(r.cfg.Rules.MCP.Servers)) {
		if calls {
			list = append(list, server{Server: r.cfg.Rules.MCP.Servers[name], name: name})
		}
	}
	return append(list, proposedLanguageServers(r.cfg.Rules)...)
}

func (r *serving) leave(what, why string) {
	r.unused = append(
		r.unused,
		fmt.Sprintf("The %s is not used: %s.", what, strings.TrimRight(why, ".")),
	)
}

// judge returns the standing of a server; q is the open request about it.
func (r *serving) judge(ctx context.Context, s *server) (now standing, q *session.Request, err error) {
	why := ""
	switch {
	case !s.Proposed: //control:mcp-proposals-are-asked
		return usable, nil, nil
	case r.cfg.SetUps.Answers == nil:
		why = "no approval can be kept here"
	case s.URL == "" && r.cfg.Workspace.Name() == "local": //control:mcp-walled-only
		why = "this workspace has no wall, and a repository's servers run only behind one"
	case s.URL != "" && !r.cfg.Rules.Reaches(s.Server): //control:mcp-host-of-a-proposal
		why = "its host is not on mcp.hosts of the server's configuration"
	}
	if why != "" {
		r.leave(s.title(), why)
		return refused, nil, nil
	}
	now, s.by, q, err = r.stands(ctx, r.offer(*s, nil))
	if now == refused && err == nil {
		r.leave(s.title(), refusalWords(s.by))
	}
	return now, q, err
}

func refusalWords(said session.Resolved) string {
	why := strings.TrimPrefix(denialText(said), "The set-up of this repository did not run: ")
	return strings.TrimSuffix(why, ".")
}

// facts returns all that identifies a server besides its tools.
func (r *serving) facts(s server) string {
	if s.lang != nil {
		return r.languageFacts(s)
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	where := []string{s.URL}
	if s.URL == "" {
		where = r.place()
	}
	//control:mcp-digest
	return fmt.Sprintf(
		"%q %q %q %q %q %q %q %q %q",
		r.repo,
		s.name,
		append([]string{s.Command}, s.Args...),
		env,
		s.Cwd,
		where,
		s.Tools.Allow,
		s.Tools.Deny,
		s.Wait(),
	)
}

// place returns all that identifies the workspace in which a program runs.
func (r *serving) place() []string {
	return []string{r.cfg.Workspace.Name(), r.programs, r.image, networkOf(r.cfg.Rules.Workspace)}
}

// action returns the use of a server as it is approved. list has its tools if they
// changed since an approval; nil if they are not known yet.
func (r *serving) action(s server, list *session.Server) policy.Action {
	a := policy.Action{
		Kind:    policy.Execute,
		Tool:    s.tool(),
		Command: strings.Join(append([]string{s.Command}, s.Args...), " "),
		Subject: s.key,
	}
	a.Display = r.display(s, list)
	if list != nil {
		a.Subject += " " + list.Digest //control:mcp-tools-in-digest
	}
	return a
}

// display shows a server as it is approved.
func (r *serving) display(s server, list *session.Server) string {
	if s.lang != nil {
		return r.languageDisplay(s)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("server: %s", s.name)
	if s.URL != "" {
		line("url: %s", s.URL)
	} else {
		line("command: %s", quoteWords(append([]string{s.Command}, s.Args...)))
	}
	if s.Cwd != "" {
		line("directory: %s", untrusted.EscapeLine(s.Cwd))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		line("variable: %s=%s", name, untrusted.EscapeLine(s.Env[name]))
	}
	if len(s.Tools.Allow) > 0 {
		line("only the tools: %s", untrusted.EscapeLine(strings.Join(s.Tools.Allow, ", ")))
	}
	if len(s.Tools.Deny) > 0 {
		line("without the tools: %s", untrusted.EscapeLine(strings.Join(s.Tools.Deny, ", ")))
	}
	if s.URL != "" {
		line("\n# Handrail calls it, without a token")
	} else {
		line("\n# %s", r.placeWords())
	}
	line("# each call of its tools is asked about by itself")
	if list == nil {
		line("# asked again when one of these changes, or its tools as it lists them at first")
		return b.String()
	}
	line("# its tools are no longer those that were approved; asked again when they change\n")
	b.WriteString(toolLines(list))
	return b.String()
}

// placeWords says where a program runs.
func (r *serving) placeWords() string {
	image := ""
	if r.cfg.Workspace.Name() == "docker" {
		image = ", image " + untrusted.EscapeLine(cmp.Or(r.image, workspace.DefaultImage))
	}
	network := networkOf(r.cfg.Rules.Workspace)
	return fmt.Sprintf("it runs in the workspace: %s%s, network: %s", r.cfg.Workspace.Name(), image, network)
}

// maxToolLines is the maximum size in bytes of the tools in a request.
const maxToolLines = 20 << 10

// toolLines shows tools with the beginning of their descriptions. The digest covers the
// whole of them.
func toolLines(list *session.Server) string {
	for _, most := range []int{400, 80, 0} {
		var b strings.Builder
		for _, t := range list.Tools {
			b.WriteString("tool: " + t.Name)
			if say := []rune(untrusted.EscapeLine(t.Description)); most > 0 && len(say) > 0 {
				b.WriteString(": " + string(say[:min(len(say), most)]))
			}
			b.WriteString("\n")
		}
		if b.Len() <= maxToolLines || most == 0 {
			return b.String()
		}
	}
	return ""
}

func quoteWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = untrusted.EscapeLine(w); w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?;&|<>(){}#!~") {
			out[i] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(out, " ")
}

// offer returns the use of a server as it is asked about. list is as for [serving.action].
func (r *serving) offer(s server, list *session.Server) offer {
	act := r.action(s, list)
	reasons := []string{"it is a program of others, which this repository proposes"}
	if list != nil {
		reasons = append(reasons, "its tools changed since it was approved")
	}
	return offer{
		action:   act,
		call:     "server-" + act.Digest()[:16],
		rule:     s.rule(),
		severity: policy.High,
		reasons:  reasons,
		server:   s.name,
		changed:  "the server has changed",
	}
}

// used records the use of an approval, if this session has one with the digest.
func (r *serving) used(ctx context.Context, digest, title string, res session.Result) error {
	q := r.request(digest)
	if q == nil || !q.Approval.IsApproved() {
		return nil
	}
	res.Call = q.Call
	started := session.Started{Call: q.Call, Title: title}
	return r.recordClean(
		ctx,
		session.NewEvent(session.TypeStarted, r.at.Turns, started),
		session.NewEvent(session.TypeResult, r.at.Turns, res),
	)
}

// connect returns a hub with the servers of a session. It lists the tools of those that
// the session has not used yet, and records them. If a repository's server has other
// tools than those approved, it asks again: then waits is the outcome of the run.
func (r *serving) connect(
	ctx context.Context,
	ws place,
	use []server,
) (hub *mcp.Hub, waits *session.Outcome, err error) {
	if err := r.spend(ctx, use); err != nil {
		return nil, nil, err
	}
	use = slices.DeleteFunc(slices.Clone(use), func(s server) bool { return s.lang != nil })
	var list []mcp.Server
	for _, s := range use {
		one := mcp.Server{
			Name:   s.name,
			Wait:   s.Wait(),
			Offers: s.Offers,
			URL:    s.URL,
			Where:  cmp.Or(s.URL, quoteWords(append([]string{s.Command}, s.Args...))+", in the workspace"),
		}
		if s.URL == "" {
			p := workspace.Program{Argv: append([]string{s.Command}, s.Args...), Cwd: s.Cwd, Env: s.Env}
			one.Start = func(ctx context.Context) (io.ReadWriteCloser, error) { return ws.Start(ctx, p) }
		} else if one.HTTP, err = r.reachServer(s); err != nil {
			return nil, nil, err
		}
		if known := r.at.Server(s.name); known != nil && known.Key == s.key {
			frozen := *known
			one.Frozen = &frozen
		}
		list = append(list, one)
	}
	hub = mcp.New(list, r.cfg.Log)
	defer func() {
		if err != nil || waits != nil {
			hub.Close()
		}
	}()
	waits, err = r.freeze(ctx, hub, use)
	if err != nil || waits != nil {
		return nil, waits, err
	}
	return hub, nil, r.tellUnused(ctx)
}

func (r *serving) reachServer(s server) (http.RoundTripper, error) {
	if r.cfg.Servers == nil {
		return nil, errors.New("connect to MCP servers: no way to URLs is given")
	}
	return r.cfg.Servers(s.name, s.Server)
}

// freeze lists new servers and records their tools.
func (r *serving) freeze(ctx context.Context, hub *mcp.Hub, use []server) (waits *session.Outcome, err error) {
	var up []session.Server
	var asked []session.Asked
	for _, got := range hub.List(ctx) {
		s := use[slices.IndexFunc(use, func(s server) bool { return s.name == got.Name })]
		if err := r.finish(ctx, s, got); err != nil {
			return nil, err
		}
		if got.Down != "" {
			r.leave(s.title(), got.Down)
			continue
		}
		got.Key = s.key
		ok, q, err := r.samePinned(ctx, s, &got)
		switch {
		case err != nil:
			return nil, err
		case ok:
			up = append(up, got)
			if left := got.LeftOut(); left != "" { //control:mcp-unfit-is-told
				r.unused = append(r.unused, fmt.Sprintf("Of the %s are %s.", s.title(), left))
			}
		case q != nil:
			asked = append(asked, q.Asked)
		default:
			hub.Leave(s.name, "its tools changed, and that was not approved")
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(up) > 0 {
		frozen := session.NewEvent(session.TypeState, r.at.Turns, session.Update{Servers: up})
		if err := r.recordClean(ctx, frozen); err != nil {
			return nil, err
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	settled, waits, err := r.wait(ctx, asked...)
	if settled && err == nil { // answered at once: begin again with the answers
		waits = &session.Outcome{Status: session.StatusMoved}
	}
	return waits, err
}

// finish records the start of an approved server, which uses its approval.
func (r *serving) finish(ctx context.Context, s server, got session.Server) error {
	if !s.Proposed {
		return nil
	}
	res := session.Result{OK: got.Down == "", Content: "It did not start: " + got.Down}
	if res.OK {
		var names []string
		for _, t := range got.Tools {
			names = append(names, t.Name)
		}
		res.Content = "Its tools are: " + strings.Join(names, ", ") + "."
	}
	return r.used(ctx, r.action(s, nil).Digest(), "Start the MCP server "+s.name, res)
}

// samePinned reports whether a proposed server has the tools that were approved. The
// first list after the approval is pinned; another one is asked about, and q is that
// request.
func (r *serving) samePinned(
	ctx context.Context,
	s server,
	got *session.Server,
) (ok bool, q *session.Request, err error) {
	if !s.Proposed {
		return true, nil, nil
	}
	pin := contentID([]byte("tools " + s.key))
	said, known, err := r.cfg.SetUps.Answers.Answer(ctx, r.repo, pin)
	if err != nil {
		return false, nil, err
	}
	if known && said.Reason == got.Digest { //control:mcp-pinned
		return true, nil, nil
	}
	if !known {
		said = s.by
		said.Reason, said.Verdict = got.Digest, policy.Approved
		return true, nil, r.cfg.SetUps.Answers.Keep(ctx, r.repo, pin, said)
	}
	o := r.offer(s, got)
	now, said, q, err := r.stands(ctx, o)
	switch {
	case err != nil:
		return false, nil, err
	case now == refused:
		r.leave(s.title(), refusalWords(said))
		return false, nil, nil
	case now == waiting:
		return false, q, nil
	case now == unasked && r.busy():
		r.leave(s.title(), "its tools changed since it was approved")
		return false, nil, nil
	case now == unasked:
		err := r.ask(ctx, o)
		return false, r.request(o.action.Digest()), err
	}
	said.Reason = got.Digest
	if err := r.cfg.SetUps.Answers.Keep(ctx, r.repo, pin, said); err != nil {
		return false, nil, err
	}
	same := session.Result{OK: true, Content: "Its tools are the approved ones."}
	return true, nil, r.used(ctx, o.action.Digest(), "Start the MCP server "+s.name, same)
}

// recordClean records events with the words of servers, without secrets.
func (r *serving) recordClean(ctx context.Context, events ...*session.Event) error {
	for _, e := range events {
		err := session.Rewrite(e, func(_, text string) string {
			text, _ = r.cfg.Secrets.Redactor.Redact(text) //control:mcp-definitions-redacted
			return text
		})
		if err != nil {
			return err
		}
	}
	return r.record(ctx, events...)
}

// tellUnused tells the model and the users which servers and tools are not used, and why.
func (r *serving) tellUnused(ctx context.Context) error {
	if len(r.unused) == 0 {
		return nil
	}
	text, _ := r.cfg.Secrets.Redactor.Redact(strings.Join(r.unused, "\n"))
	return r.tell(ctx, session.Note{Kind: session.NoteServers, Text: text})
}

// answered returns the requester's answer to a question of an MCP server. It counts for
// the first call after it with the same name and arguments as the one that asked.
func answered(log session.Log) func(context.Context, session.Call, string) (string, bool, error) {
	return func(ctx context.Context, now session.Call, question string) (string, bool, error) {
		events, err := log.Events(ctx, 0)
		if err != nil {
			return "", false, err
		}
		calls := map[string]session.Call{}
		asked := map[string]session.Asked{}
		answer, of, open := "", session.Call{}, false
		again := func(id string) bool {
			c := calls[id]
			return id != of.ID && c.Name == of.Name && string(c.Arguments) == string(of.Arguments)
		}
		for _, e := range events {
			p, err := session.Payload(e)
			if err != nil {
				return "", false, err
			}
			switch p := p.(type) {
			case *session.Answer:
				for _, c := range p.Calls {
					calls[c.ID] = c
				}
			case *session.Asked:
				asked[p.ID] = *p
			case *session.Resolved:
				a := asked[p.ID]
				if a.Server != "" && a.Display == question && p.Verdict == policy.Answered {
					answer, of, open = p.Reason, calls[a.Call], true
				}
			case *session.Started:
				if again(p.Call) && p.Call != now.ID {
					open = false //control:mcp-answer-once
				}
			}
		}
		return answer, open && again(now.ID), nil
	}
}
