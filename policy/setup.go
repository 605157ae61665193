package policy

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Running is the part of a configuration about running commands.
type Running struct {
	LongRunningCommands []string `yaml:"long_running_commands,omitempty" json:"long_running_commands,omitempty" jsonschema:"description=Patterns of commands that may run past the ordinary time limit."`
	Tools               Tools    `yaml:"tools,omitempty" json:"tools,omitempty" jsonschema:"description=Rules for single tools\\, by name."`
	SetUp               SetUp    `yaml:"setup,omitempty" json:"setup,omitzero"`

	LanguageServers []LanguageServer `yaml:"language_servers,omitempty" json:"language_servers,omitempty" jsonschema:"description=Language servers of workspaces besides the known ones\\, or in their place. Those of a repository are proposals\\, each used after one approval."`
}

// LanguageServer is a language server in workspaces. Without a command it is the known one of that
// name, for other files. Those of a repository are proposals: one is used only after an approval of
// all that identifies it.
type LanguageServer struct {
	Name       string   `yaml:"name" json:"name" jsonschema:"required,minLength=1"`
	Command    []string `yaml:"command,omitempty" json:"command,omitempty" jsonschema:"description=Program and arguments; it speaks over its standard input and output."`
	Extensions []string `yaml:"extensions,omitempty" json:"extensions,omitempty" jsonschema:"description=Of its files\\, such as ex."`

	Proposed bool `yaml:"-" json:"-"` // from a repository: used only after an approval
}

func (c Config) checkLanguageServers(p *problems) {
	if len(c.LanguageServers) > maxServers {
		p.add(fmt.Sprintf("at most %d servers", maxServers), "language_servers")
	}
	names := map[string]bool{}
	for i, s := range c.LanguageServers {
		switch {
		case strings.TrimSpace(s.Name) == "":
			p.add("a name is needed, such as elixir-ls", "language_servers", i, "name")
		case names[s.Name]:
			p.add(fmt.Sprintf("there is another server %q", s.Name), "language_servers", i, "name")
		case len(s.Command) > 0 && strings.TrimSpace(s.Command[0]) == "":
			p.add("the command has no program", "language_servers", i, "command")
		case len(s.Command)+len(s.Extensions) == 0:
			p.add("write its command or the extensions of its files", "language_servers", i)
		}
		names[s.Name] = true
	}
}

// mergeLanguageServers adds the repository's proposals behind the servers of the server's file. A
// repository cannot change one of those; unfit has a line for each that it tries to.
func mergeLanguageServers(server, repo []LanguageServer) (out []LanguageServer, unfit []string) {
	out = slices.Clone(server)
	for _, s := range repo {
		if slices.ContainsFunc(server, func(o LanguageServer) bool { return o.Name == s.Name }) { //control:language-server-name-is-taken
			unfit = append(unfit, fmt.Sprintf(
				"The language server %q of this repository is not used: the server's configuration has one of this name.",
				s.Name,
			))
			continue
		}
		s.Proposed = true //control:language-servers-of-the-server
		out = append(out, s)
	}
	return out, unfit
}

// SetUp configures the set-up, which runs once after approval in a workspace of its own.
// All later sessions get the resulting files. The approval is valid until Commands,
// Files, the image or the network change.
type SetUp struct {
	Commands []string `yaml:"commands,omitempty" json:"commands,omitempty" jsonschema:"description=Run one after the other at the root of the repository\\, as it is on the base branch."`
	Files    []string `yaml:"files,omitempty" json:"files,omitempty" jsonschema:"description=Files whose change makes it run again\\, such as go.sum; when unset the known lockFiles and lock files at the root."`
	Caches   []string `yaml:"caches,omitempty" json:"caches,omitempty" jsonschema:"description=Package managers whose caches the next set-up begins with\\, so that it fetches only what is new.,enum=cargo,enum=gem,enum=go,enum=gradle,enum=maven,enum=npm,enum=pip,enum=pnpm,enum=yarn"`
	Network  string   `yaml:"network,omitempty" json:"network,omitempty" jsonschema:"enum=none,enum=allowlist,enum=open,default=none,description=Network of the commands. In the server's policy: the limit for repositories."`
	Hosts    []string `yaml:"hosts,omitempty" json:"hosts,omitempty" jsonschema:"description=Hosts that network: allowlist reaches\\, as workspace.hosts has them."`
	Presets  []string `yaml:"presets,omitempty" json:"presets,omitempty" jsonschema:"description=Package managers whose public hosts network: allowlist reaches.,enum=cargo,enum=composer,enum=gem,enum=go,enum=gradle,enum=hex,enum=maven,enum=npm,enum=nuget,enum=pip,enum=swift"`
	Propose  string   `yaml:"propose,omitempty" json:"propose,omitempty" jsonschema:"enum=auto,enum=off,description=auto: without commands\\, the ones that the manifests need are proposed\\, with the public hosts of their package managers\\, or those of the server's policy if it sets a network. off: never; network: none means it\\, too."`
	Approval string   `yaml:"approval,omitempty" json:"approval,omitempty" jsonschema:"enum=each,enum=once,default=each,description=each: a change of files is asked about. once: a yes holds until the commands\\, the network or the image change."`
}

// lockFiles are the default files that determine the downloads of a set-up.
var lockFiles = []string{
	"go.mod", "go.sum", "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock",
	"requirements.txt", "pyproject.toml", "poetry.lock", "uv.lock", "Pipfile", "Pipfile.lock", "setup.py", "setup.cfg",
	"Cargo.toml", "Cargo.lock", "Gemfile", "Gemfile.lock", "composer.json", "composer.lock", "pom.xml", "build.gradle", "build.gradle.kts",
	"gradle.lockfile", "mix.exs", "mix.lock",
}

// caches are the cache directories of package managers, below the cache root. The home
// directory is home there.
var caches = map[string][]string{
	"cargo": {
		"home/.cargo/registry",
		"home/.cargo/git",
	}, "gem": {"home/.bundle/cache", "home/.gem"}, "go": {"go/pkg/mod", "go-build"},
	"gradle": {"home/.gradle/caches"}, "maven": {"home/.m2/repository"}, "npm": {"home/.npm/_cacache"}, "pip": {"pip"},
	"pnpm": {"home/.local/share/pnpm/store", "pnpm"}, "yarn": {"home/.yarn/berry/cache", "yarn"},
}

// CacheDirs returns the directories that are kept for the next set-up.
func (s SetUp) CacheDirs() (dirs []string) {
	for _, name := range s.Caches {
		dirs = append(dirs, caches[name]...)
	}
	return dirs
}

// Named returns the files that the set-up depends on.
func (s SetUp) Named() []string {
	if len(s.Files) > 0 {
		return s.Files
	}
	return lockFiles
}

// Reach returns the network settings of the set-up as those of a workspace. inside has
// the form of [Workspace.Inside].
func (s SetUp) Reach(inside map[string]string) Workspace {
	return Workspace{Network: s.Network, Hosts: s.Hosts, Presets: s.Presets, Inside: inside}
}

func (c Config) checkSetUp(p *problems) {
	p.reach(c.SetUp.Reach(nil), "setup")
	for i, cmd := range c.SetUp.Commands {
		switch {
		case strings.TrimSpace(cmd) == "":
			p.add("an empty command does nothing; write one, such as \"npm ci\"", "setup", "commands", i)
		case strings.ContainsRune(cmd, 0):
			p.add("the command has a NUL character", "setup", "commands", i)
		}
	}
	p.oneOf(c.SetUp.Propose, []string{"auto", "off"}, "setup", "propose")
	p.oneOf(c.SetUp.Approval, []string{"each", "once"}, "setup", "approval")
	for i, name := range c.SetUp.Caches {
		p.requiredOneOf(name, slices.Sorted(maps.Keys(caches)), "setup", "caches", i)
	}
	for i, f := range c.SetUp.Files {
		switch {
		case f == "" || path.IsAbs(f) || path.Clean(f) != f || f == "." || strings.HasPrefix(f, ".."):
			p.add(
				"write the path of a file from the root of the repository, such as go.sum or web/package-lock.json",
				"setup",
				"files",
				i,
			)
		case strings.ContainsAny(f, "*?"):
			p.add(fmt.Sprintf("%q is a pattern, and only plain paths are known here", f), "setup", "files", i)
		}
	}
}

// mergeSetUp takes the commands from the repository, and lets it only narrow the network.
func mergeSetUp(server, repo SetUp) SetUp {
	out := SetUp{
		Propose:  proposeOff(server, repo),
		Approval: server.Approval,
		Commands: orList(repo.Commands, server.Commands),
		Files:    orList(repo.Files, server.Files),
		Caches:   orList(repo.Caches, server.Caches),
	}
	if server.Approval == "" {
		out.Approval = repo.Approval //control:setup-once-is-the-operators
	}
	if repo.Network == "" {
		return out
	}
	w := mergeWorkspace(server.Reach(nil), repo.Reach(nil)) //control:setup-network
	if out.Network = w.Network; w.Network == "allowlist" {
		out.Hosts, out.Presets = w.Hosts, w.Presets
	}
	return out
}

// proposeOff returns "off" if one of two configurations rules proposals out: by name, or
// because it has set the network to none.
func proposeOff(server, repo SetUp) string {
	for _, s := range [...]SetUp{server, repo} {
		if s.Propose == "off" || s.Propose == "" && s.Network == "none" { //control:setup-propose-off
			return "off"
		}
	}
	return cmp.Or(server.Propose, repo.Propose)
}

// Proposal returns the set-up that may be proposed to a repository without one, and false
// if none may. If the server sets a network for set-ups, the proposal is within it: it
// reaches those of its hosts that the server lists, and all that the server lists if that
// has none of them, as with a mirror.
func (c Config) Proposal(s SetUp) (SetUp, bool) {
	if c.SetUp.Propose == "off" || len(c.SetUp.Commands) > 0 {
		return SetUp{}, false
	}
	above := c.SetUp
	if c.Above != nil {
		above = c.Above.SetUp
	}
	s.Files, s.Caches, s.Approval = orList(c.SetUp.Files, s.Files), orList(c.SetUp.Caches, s.Caches), c.SetUp.Approval
	if above.Network == "" || above.Network == "none" {
		return s, true
	}
	w := mergeWorkspace(above.Reach(nil), s.Reach(nil)) //control:setup-proposal-within
	if w.Network == "allowlist" && len(w.Reaches()) == 0 {
		w = above.Reach(nil)
	}
	s.Network, s.Hosts, s.Presets = w.Network, w.Hosts, w.Presets
	return s, true
}
