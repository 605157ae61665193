package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/shell"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// holds are the values of `push.hold`, in increasing strictness.
var holds = []string{"none", "workflows", "builds"}

// Delivery is the part of a configuration about delivering work.
type Delivery struct {
	Undo string `yaml:"undo,omitempty" json:"undo,omitempty" jsonschema:"enum=commit,enum=reset,description=How /agent undo takes changes back; commit when unset."`
	Push Push   `yaml:"push,omitempty" json:"push,omitzero"`

	Commits  Commits  `yaml:"commits,omitempty" json:"commits,omitzero"`
	Comments Comments `yaml:"comments,omitempty" json:"comments,omitzero"`

	Verify string   `yaml:"verify,omitempty" json:"verify,omitempty" jsonschema:"description=Whether Handrail runs the tests before work counts as done: auto (the commands of test\\, or those of the project)\\, off\\, or a command.,default=auto"`
	Test   []string `yaml:"test,omitempty" json:"test,omitempty" jsonschema:"description=Commands that run the tests; a command that begins like one of them is a run of the tests."`
}

// Commits configures a session's commits. The bot is their author and committer.
type Commits struct {
	Sign     string `yaml:"sign,omitempty" json:"sign,omitempty" jsonschema:"enum=none,enum=ssh,enum=gpg,enum=api,description=Signature of commits: none\\, by the server with its SSH or GPG key\\, or by GitHub through its API. None when unset."`
	CoAuthor *bool  `yaml:"co_author,omitempty" json:"co_author,omitempty" jsonschema:"description=Name the requester as co-author; true when unset."`
	SignOff  *bool  `yaml:"sign_off,omitempty" json:"sign_off,omitempty" jsonschema:"description=Add the Signed-off-by line of the bot; false when unset."`
}

// signs are the values of `commits.sign`.
var signs = []string{"none", "ssh", "gpg", "api"}

// Signs reports whether commits are signed.
func (c Commits) Signs() bool { return c.Sign != "" && c.Sign != "none" }

// NamesRequester reports whether the requester is named as co-author.
func (c Commits) NamesRequester() bool { return c.CoAuthor == nil || *c.CoAuthor }

// SignsOff reports whether the bot adds its Signed-off-by line.
func (c Commits) SignsOff() bool { return isTrue(c.SignOff) }

// mergeCommits prefers the repository's choice. If the server requires signatures, the
// repository can choose the signer, but cannot turn signing off.
func mergeCommits(server, repo Commits) Commits {
	out := Commits{
		Sign:     cmp.Or(repo.Sign, server.Sign),
		CoAuthor: cmp.Or(repo.CoAuthor, server.CoAuthor),
		SignOff:  cmp.Or(repo.SignOff, server.SignOff),
	}
	if server.Signs() && !repo.Signs() { //control:signing-stays-on
		out.Sign = server.Sign
	}
	return out
}

// Values in `comments`.
const (
	NoProgress = "none"  // of progress: no comment is updated while a session runs
	Quiet      = "quiet" // of end and approval: no mention
)

// Comments configures a session's comments in its thread, other than requests and
// answers.
type Comments struct {
	Progress string   `yaml:"progress,omitempty" json:"progress,omitempty" jsonschema:"enum=edit,enum=none,description=One comment that is edited while a session runs\\, or none; edit when unset.,default=edit"`
	Severity string   `yaml:"severity,omitempty" json:"severity,omitempty" jsonschema:"enum=low,enum=medium,enum=high,description=Least severity of the findings that a review tells; low when unset.,default=low"`
	Inline   int      `yaml:"inline,omitempty" json:"inline,omitempty" jsonschema:"minimum=0,maximum=50,description=Limit of comments on lines in a review; its summary has the rest. 10 when unset.,default=10"`
	End      string   `yaml:"end,omitempty" json:"end,omitempty" jsonschema:"enum=mention,enum=quiet,description=Whether a short comment tells the requester of the end of a long session; mention when unset.,default=mention"`
	After    Duration `yaml:"after,omitempty" json:"after,omitzero" jsonschema:"default=3m"`
	Approval string   `yaml:"approval,omitempty" json:"approval,omitempty" jsonschema:"enum=mention,enum=quiet,description=Whether a request for approval mentions those who may answer it; mention when unset.,default=mention"`
}

// Push configures which changes need approval before the push, because CI would run them,
// possibly with secrets.
type Push struct {
	Hold string `yaml:"hold,omitempty" json:"hold,omitempty" jsonschema:"enum=none,enum=workflows,enum=builds,description=Changes that need approval before a push because CI would run them; workflows when unset. A repository can only be stricter.,default=workflows"`
}

// stricterHold returns the stricter of the two values.
func stricterHold(server, repo string) string {
	if repo == "" {
		return server
	}
	server = cmp.Or(server, DefaultConfig().Push.Hold)
	return holds[max(slices.Index(holds, server), slices.Index(holds, repo))]
}

// Remote holds the known facts about the destination of a push. The zero value has no
// workflows.
type Remote struct {
	Branch    string   // branch of the session; "" if unknown
	Untrusted bool     // the requester may not push there: everything needs approval
	Actions   []string // directories of the actions used by workflows
	Words     []string // words in the workflows, see [WorkflowWords]
	Unread    bool     // a workflow could not be read: it may refer to any file
}

// Pushing returns the policy for a session that pushes to the remote.
func (p *Policy) Pushing(r Remote) *Policy {
	q := *p
	q.remote = &r
	q.analyze = func(line string) shell.Analysis { return shell.AnalyzeOn(r.Branch, line) }
	return &q
}

// HoldReason returns the reason why a change needs approval before it is pushed, or "": CI
// would run it with its secrets.
func (p *Policy) HoldReason(e Effect) string {
	if p == nil || p.remote == nil {
		return ""
	}
	hold, name := p.config.Push.Hold, untrusted.EscapeLine(e.Path)
	switch {
	case p.remote.Untrusted: //control:hold-untrusted
		return "the requester of this session may not push to this repository, so everything waits"
	case hold == "none":
		return ""
	case p.runsOnPush(e): //control:hold-workflows
		return "CI reads and follows " + name + " when this is pushed, with the repository's secrets"
	case hold == "builds" && (p.remote.Unread || p.namedByWorkflow(e.Path)): //control:hold-named
		if p.remote.Unread {
			return "CI may run " + name + " when this is pushed, with the repository's secrets: a workflow could not be read"
		}
		return "CI runs " + name + " when this is pushed, with the repository's secrets: a workflow names it"
	case hold == "builds" && matchesAny(manifests[:], e.Path): //control:hold-manifests
		return "a build in CI follows " + name + " when this is pushed, with the repository's secrets"
	}
	return ""
}

// runsOnPush reports whether CI itself reads the file. A symlink may replace the
// directory of such files.
func (p *Policy) runsOnPush(e Effect) bool {
	if RunsOnPush(e.Path) {
		return true
	}
	if e.Is != "" && !strings.HasPrefix(e.Is, "100") &&
		slices.ContainsFunc(
			[]string{"/x", "/workflows/x", "/actions/x"},
			func(in string) bool { return RunsOnPush(e.Path + in) },
		) {
		return true
	}
	return slices.ContainsFunc(readings(e.Path), func(name string) bool {
		return slices.ContainsFunc(p.remote.Actions, func(dir string) bool {
			dir = foldPath(dir)
			return name == dir || strings.HasPrefix(name, dir+"/") || strings.HasPrefix(dir, name+"/")
		})
	})
}

// namedByWorkflow reports whether a workflow refers to a file: by its path from some directory, by
// a parent directory, or by a pattern.
func (p *Policy) namedByWorkflow(name string) bool {
	for _, reading := range readings(name) {
		for _, word := range p.remote.Words {
			word = foldPath(word)
			_, last := path.Split(reading)
			switch {
			case reading == word, last == word, strings.HasPrefix(reading, word+"/"), strings.HasPrefix(word, reading+"/"):
				return true
			case strings.ContainsAny(word, "/.") && strings.Contains("/"+reading+"/", "/"+word+"/"):
				return true
			case strings.ContainsAny(word, "*?["):
				if ok, err := doublestar.Match("{,**/}"+word, reading); ok || err != nil {
					return true
				}
			}
		}
	}
	return false
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(readings(name), func(reading string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := doublestar.Match("**/"+pattern, reading)
			return ok || err != nil
		})
	})
}

var (
	filledIn  = pattern.Lazy(`\$\{\{[^}]*\}\}|\$\{\w+\}|\$\w+|\$\([^)]*\)`)
	workspace = pattern.Lazy(`(?i)\$\{\{\s*github\.workspace\s*\}\}/|\$\{?GITHUB_WORKSPACE\}?/`)
	wordRE    = pattern.Lazy(`[\p{L}\p{N}._@+~*?/\\\[\]-]+`)
	letterRE  = pattern.Lazy(`[\p{L}\p{N}]`)
	usesRE    = pattern.Lazy(`(?m)uses["']?\s*:\s*["']?\./([^\s"'#@,}]*)`)
)

// WorkflowWords returns the words in a workflow that may name a file, and the directories
// of the actions that it uses. An expression evaluated at run time matches anything. A
// word for the whole tree names no file.
func WorkflowWords(text string) (words, actions []string) {
	for _, m := range usesRE().FindAllStringSubmatch(text, -1) {
		actions = append(actions, path.Clean(m[1]))
	}
	text = filledIn().ReplaceAllString(workspace().ReplaceAllString(text, ""), "*")
	all := wordRE().FindAllString(text, -1)
	for _, w := range all[:len(all):len(all)] { // the first and last word of a list include a bracket
		all = append(all, strings.Trim(w, "[]"))
	}
	for _, w := range all {
		w = strings.TrimSuffix(strings.ReplaceAll(w, `\`, "/"), "...")
		w = strings.Trim(path.Clean("/"+w), "/")
		w = strings.TrimRight(w, ".")
		if len(w) > 1 && letterRE().MatchString(w) {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return slices.Compact(words), actions
}

// manifests are patterns of files with scripts that builds run, folded.
var manifests = [...]string{
	"*.{sh,bash,zsh,fish,ps1,psm1,bat,cmd}", "{configure,configure.ac,autogen.sh,bootstrap,build,build.*,install,run,test}",
	"{package.json,.npmrc,.pnpmfile.cjs,.yarnrc*,bunfig.toml,deno.json*,lerna.json,nx.json,turbo.json,rush.json,workspace.json,project.json,angular.json,binding.gyp}",
	"*.config.{js,cjs,mjs,ts,cts,mts,json}", "{gulpfile,gruntfile,jakefile,karma.conf,wdio.conf,protractor.conf,ember-cli-build}*", ".{babelrc,eslintrc,mocharc,nycrc,swcrc,prettierrc,stylelintrc,postcssrc,huskyrc,lintstagedrc}*",
	"{makefile,gnumakefile,bsdmakefile,kbuild}*", "*.{mk,mak,make,cmake}", "{cmakelists.txt,meson.build,meson_options.txt,sconstruct,sconscript,wscript,configure.in,premake*.lua,xmake.lua,conanfile.*}",
	"{setup.py,setup.cfg,pyproject.toml,conftest.py,tox.ini,noxfile.py,pytest.ini,tasks.py,fabfile.py,dodo.py,manage.py,hatch.toml,hatch_build.py,build_ext*.py,versioneer.py,sitecustomize.py,usercustomize.py}", "{requirements,constraints}*.{txt,in}", "*.pth", "pipfile", "environment.y*ml",
	"{cargo.toml,build.rs,rust-toolchain*}", "{go.mod,go.work,tools.go,generate.go,magefile*.go,build.go}",
	"*.{gradle,gradle.kts}", "{gradlew*,gradle.properties,mvnw*,pom.xml,build.xml,ivy.xml,build.sbt,build.sc,build.mill,deps.edn,project.clj}", "project/{*.sbt,*.scala,build.properties}", "{buildsrc,build-logic}/**", ".mvn/**",
	"{rakefile*,gemfile*,extconf.rb,guardfile,capfile,dangerfile,fastfile,podfile,.rspec,.irbrc}", "*.{rake,gemspec,podspec}", "fastlane/**",
	"{composer.json,phpunit*.xml*,phing.xml,robo.php,artisan}", "{mix.exs,rebar.config*,erlang.mk,shard.yml,dub.*,pubspec.yaml,build.yaml,package.swift,project.swift,cartfile,dune,dune-project,stack.yaml,setup.hs,build.zig*,flake.nix,default.nix,shell.nix,cpanfile,makefile.pl,build.pl,justfile,.justfile,taskfile*,earthfile,tiltfile,bakefile*,devbox.json,mise.toml,.mise.toml,.tool-versions}", "*.{opam,cabal,nimble,rockspec,nix}",
	"*.{csproj,fsproj,vbproj,vcxproj,sqlproj,proj,props,targets,sln,slnx,cake,fsx,csx,tt}", "{global.json,nuget.config,dotnet-tools.json}",
	"{build,build.bazel,workspace,workspace.bazel,module.bazel,.bazelrc,.bazelversion,buck,.buckconfig,pants.toml,please.build}", "*.{bzl,star}",
	"{dockerfile,containerfile}*", "*.{dockerfile,containerfile}", "{docker-,}compose*.{yml,yaml}", "docker-bake.*", "{vagrantfile,procfile,skaffold.y*ml,tiltfile}", ".{pre-commit-config,goreleaser,golangci,lefthook}*.*", ".github/**", "{.husky,.githooks,githooks,.devcontainer}/**",
	"*.lock", "{package-lock.json,npm-shrinkwrap.json,pnpm-lock.yaml,bun.lockb,go.sum}", "{.envrc,.env,.env.*}",
}

// Held makes a decision wait for approval because a push would run code elsewhere,
// regardless of the settings for the files.
func (d Decision) Held(held []string) Decision {
	var why []Reason
	for _, text := range held {
		why = append(why, Reason{Rule: "push.hold", Text: text})
	}
	d.Reasons = prependReasons(d, why)
	if len(held) > 0 && d.Verdict == Allow { //control:hold-asks
		d.Verdict, d.Rule, d.Auto = Ask, "push.hold", false
	}
	return d
}

// Leaking makes a decision wait for approval because of credentials, regardless of the
// settings: no setting approves these in advance.
func (d Decision) Leaking(leaks []string) Decision {
	var why []Reason
	for _, text := range leaks {
		why = append(why, Reason{Rule: "secret", Text: text})
	}
	d.Reasons = prependReasons(d, why)
	if len(leaks) > 0 && d.Verdict != Deny { //control:secret-hold
		d.Severity, d.Auto = Critical, false
		if d.Verdict == Allow {
			d.Verdict, d.Rule = Ask, "secret"
		}
	}
	return d
}

// prependReasons adds reasons to those of a decision. If the decision was to allow, its
// deciding rule no longer applies and is removed, and the new reasons come first.
func prependReasons(d Decision, why []Reason) []Reason {
	if len(why) == 0 || d.Verdict != Allow {
		return append(d.Reasons, why...)
	}
	rest := slices.DeleteFunc(slices.Clone(d.Reasons), func(r Reason) bool { return r.Rule == d.Rule })
	return append(why, rest...)
}
