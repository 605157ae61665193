package work

import (
	"context"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// proposedLanguageServers returns the language servers that a repository proposes.
func proposedLanguageServers(rules policy.Config) (list []server) {
	for _, l := range rules.LanguageServers {
		if l.Proposed {
			s := server{name: l.Name, lang: &l, Server: policy.Server{Proposed: true}}
			if len(l.Command) > 0 {
				s.Command, s.Args = l.Command[0], l.Command[1:]
			}
			list = append(list, s)
		}
	}
	return list
}

// languageServers returns the language servers of a session: the operator's, and those that were
// chosen.
func languageServers(rules policy.Config, use []server) (list []workspace.LanguageServer) {
	add := func(l policy.LanguageServer) {
		one := workspace.LanguageServer{Name: l.Name, Command: l.Command, Extensions: l.Extensions}
		list = append(list, one)
	}
	for _, l := range rules.LanguageServers {
		if !l.Proposed { //control:language-servers-are-asked
			add(l)
		}
	}
	for _, s := range use {
		if s.lang != nil {
			add(*s.lang)
		}
	}
	return list
}

// tool returns the name of the tool in a request about the server.
func (s server) tool() string {
	if s.lang != nil {
		return session.ProposedLanguageServer
	}
	return session.ProposedServer
}

// rule returns the key of the configuration that proposes the server.
func (s server) rule() string {
	if s.lang != nil {
		return "language_servers"
	}
	return "mcp"
}

// title names the server in a sentence.
func (s server) title() string {
	if s.lang != nil {
		return "language server " + untrusted.EscapeLine(s.name)
	}
	return "MCP server " + untrusted.EscapeLine(s.name)
}

// languageFacts returns all that identifies a language server.
func (r *serving) languageFacts(s server) string {
	//control:language-server-digest
	return fmt.Sprintf("%q %q %q %q %q", r.repo, s.name, s.lang.Command, s.lang.Extensions, r.place())
}

// languageDisplay shows a language server as it is approved.
func (r *serving) languageDisplay(s server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "language server: %s\n", untrusted.EscapeLine(s.name))
	if len(s.lang.Command) > 0 {
		fmt.Fprintf(&b, "command: %s\n", quoteWords(s.lang.Command))
	}
	if len(s.lang.Extensions) > 0 {
		fmt.Fprintf(&b, "files: %s\n", untrusted.EscapeLine(strings.Join(s.lang.Extensions, ", ")))
	}
	fmt.Fprintf(&b, "\n# %s\n# it starts when code is asked about; asked again when one of these changes\n", r.placeWords())
	return b.String()
}

// spend records the use of the approvals of language servers.
func (r *serving) spend(ctx context.Context, use []server) error {
	for _, s := range use {
		if s.lang == nil {
			continue
		}
		res := session.Result{OK: true, Content: "It starts when code is asked about."}
		if err := r.used(ctx, r.action(s, nil).Digest(), "Use the "+s.title(), res); err != nil {
			return err
		}
	}
	return nil
}
