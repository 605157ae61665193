package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A repository says what is set up, and reaches no more by that than the server lets it.
func TestMergeSetUp(t *testing.T) {
	npm := SetUp{Commands: []string{"npm ci"}, Files: []string{"package-lock.json"}}
	with := func(s SetUp, network string) Config {
		s.Network = network
		return Config{Running: Running{SetUp: s}}
	}
	for _, tt := range []struct{ server, repo, want string }{
		{"", "", "none"}, {"", "open", "none"}, {"none", "open", "none"}, {"open", "", "none"}, {"open", "none", "none"}, {"open", "open", "open"},
	} {
		got := Merge(with(SetUp{}, tt.server).WithDefaults(), with(npm, tt.repo)).WithDefaults().SetUp
		if got.Network != tt.want || !slices.Equal(got.Commands, npm.Commands) || !slices.Equal(got.Files, npm.Files) {
			t.Errorf("server %q, repository %q: %+v, want %q", tt.server, tt.repo, got, tt.want)
		}
	}
	if got := Merge(with(npm, "open"), Config{}).WithDefaults().SetUp; !slices.Equal(got.Commands, npm.Commands) || got.Network != "none" {
		t.Errorf("of the server alone: %+v", got)
	}
}

// Where hosts are listed, a repository reaches those that the server lists as well.
func TestMergeSetUpHosts(t *testing.T) {
	list := func(hosts, presets []string) SetUp {
		return SetUp{Network: "allowlist", Hosts: hosts, Presets: presets}
	}
	for name, tt := range map[string]struct {
		server, repo SetUp
		network      string
		reaches      []string
	}{
		"what both list":          {list([]string{"*.a.org", "b.org"}, []string{"go"}), list([]string{"x.a.org", "c.org"}, []string{"go", "npm"}), "allowlist", []string{"x.a.org", "proxy.golang.org", "sum.golang.org"}},
		"all that the server has": {list([]string{"b.org"}, nil), list(nil, nil), "allowlist", []string{"b.org"}},
		"open is narrowed":        {list([]string{"b.org"}, nil), SetUp{Network: "open"}, "allowlist", []string{"b.org"}},
		"below open":              {SetUp{Network: "open"}, list([]string{"c.org"}, nil), "allowlist", []string{"c.org"}},
		"without the server":      {SetUp{}, list([]string{"c.org"}, nil), "none", nil},
		"without the repository":  {list([]string{"b.org"}, nil), SetUp{}, "none", nil},
	} {
		got := Merge(Config{Running: Running{SetUp: tt.server}}.WithDefaults(), Config{Running: Running{SetUp: tt.repo}}).WithDefaults().SetUp
		if reaches := got.Reach(nil).Reaches(); got.Network != tt.network || !slices.Equal(reaches, tt.reaches) {
			t.Errorf("%s: %s reaches %q", name, got.Network, reaches)
		}
	}
	for _, s := range []SetUp{{Hosts: []string{"a.org"}}, {Network: "open", Presets: []string{"go"}}} {
		if err := (Config{Running: Running{SetUp: s}}).CheckEffect(); err == nil || !strings.Contains(err.Error(), "network: allowlist") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// What of a set-up cannot work is told.
func TestSetUpIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"setup: {commands: ['']}":              "line 1, column 20: setup.commands[0]: an empty command does nothing",
		"setup: {files: [/etc/passwd]}":        "setup.files[0]: write the path of a file from the root",
		"setup: {files: ['*.lock']}":           "setup.files[0]: \"*.lock\" is a pattern",
		"setup: {files: [../a]}":               "setup.files[0]: write the path",
		"setup: {caches: [nmp]}":               `setup.caches[0]: "nmp" is not one of`,
		"setup: {network: bridge}":             `setup.network: "bridge" is not one of none, allowlist, open`,
		"setup: {hosts: [\"a b\"]}":            `setup.hosts[0]: "a b" is not the name of a host`,
		"setup: {presets: [ruby]}":             `setup.presets[0]: "ruby" is not one of cargo, composer, gem, go`,
		"setup: {propose: on}":                 `setup.propose: "on" is not one of auto, off`,
		"setup: {approval: never}":             `setup.approval: "never" is not one of each, once`,
		"language_servers: [{command: [a]}]":   "language_servers[0].name: a name is needed",
		"language_servers: [{name: a}]":        "language_servers[0]: write its command or the extensions",
		"setup: {command: [npm ci]}":           `did you mean "commands"?`,
		"setup: {commands: [npm ci, \"\\0\"]}": "the command has a NUL character",
	} {
		if _, err := ParseConfig("agent.yml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestLanguageServers: those of a repository are proposals, and change none of the server's.
func TestLanguageServers(t *testing.T) {
	of := func(text string) Config {
		t.Helper()
		c, err := ParseConfig("agent.yml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	server := of("language_servers: [{name: mine, command: [a]}]")
	repo := of("language_servers: [{name: mine, command: [evil]}, {name: theirs, command: [b], extensions: [ex]}]")
	if err := repo.CheckRepository(); err != nil {
		t.Error(err)
	}
	for name, repo := range map[string]Config{"as read": repo, "as of a commit": repo.Proposing(nil)} {
		all := Merge(server, repo)
		got := all.LanguageServers
		if len(got) != 2 || got[0].Name != "mine" || got[0].Command[0] != "a" || got[0].Proposed || got[1].Name != "theirs" || !got[1].Proposed {
			t.Errorf("%s, in force are %+v", name, got)
		}
		if len(all.MCP.Unfit) != 1 || !strings.Contains(all.MCP.Unfit[0], `language server "mine" of this repository is not used`) {
			t.Errorf("%s, said %q", name, all.MCP.Unfit)
		}
	}
	for _, s := range repo.Proposing(nil).LanguageServers {
		if !s.Proposed {
			t.Errorf("%s is none of a proposal", s.Name)
		}
	}
	many := "language_servers: ["
	for i := range 21 {
		many += fmt.Sprintf("{name: s%d, command: [x]}, ", i)
	}
	for text, says := range map[string]string{
		many + "]": "at most 20 servers",
		"language_servers: [{name: a, command: [x]}, {name: a, command: [y]}]": `there is another server "a"`,
	} {
		if _, err := ParseConfig("agent.yml", []byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A proposal reaches the public hosts of its package managers, or less if the server
// names hosts; either file rules proposals out.
func TestProposal(t *testing.T) {
	npm := SetUp{Commands: []string{"npm ci"}, Network: "allowlist", Presets: []string{"npm"}}
	hosts := []string{"registry.npmjs.org", "registry.yarnpkg.com"}
	for name, tt := range map[string]struct {
		server, repo SetUp
		ok           bool
		reaches      []string
	}{
		"nothing set":           {SetUp{}, SetUp{}, true, hosts},
		"off by the server":     {SetUp{Propose: "off"}, SetUp{}, false, nil},
		"off by the repository": {SetUp{}, SetUp{Propose: "off"}, false, nil},
		"no network":            {SetUp{Network: "none"}, SetUp{}, false, nil},
		"a repository's own no": {SetUp{}, SetUp{Network: "none"}, false, nil},
		"not widened":           {SetUp{Network: "none"}, SetUp{Propose: "auto"}, false, nil},
		"commands of its own":   {SetUp{}, SetUp{Commands: []string{"make deps"}}, false, nil},
		"of the server's hosts": {SetUp{Network: "allowlist", Hosts: []string{"registry.npmjs.org", "a.org"}}, SetUp{}, true, hosts[:1]},
		"a mirror":              {SetUp{Network: "allowlist", Hosts: []string{"mirror.org"}}, SetUp{}, true, []string{"mirror.org"}},
		"an open network":       {SetUp{Network: "open"}, SetUp{}, true, hosts},
	} {
		server := Config{Running: Running{SetUp: tt.server}}.WithDefaults()
		got, ok := Merge(server, Config{Running: Running{SetUp: tt.repo}}).WithDefaults().Proposal(npm)
		if reaches := got.Reach(nil).Reaches(); ok != tt.ok || !slices.Equal(reaches, tt.reaches) {
			t.Errorf("%s: %v, reaches %q", name, ok, reaches)
		}
	}
	once, each := SetUp{Approval: "once"}, SetUp{Approval: "each"}
	for _, tt := range []struct {
		server, repo SetUp
		want         string
	}{{SetUp{}, once, "once"}, {each, once, "each"}, {once, SetUp{}, "once"}} {
		if got := mergeSetUp(tt.server, tt.repo).Approval; got != tt.want {
			t.Errorf("server %q, repository %q: %q", tt.server.Approval, tt.repo.Approval, got)
		}
	}
}
