package shell

import (
	"path"
	"strings"
)

// subRule says what a sub-command of a program means. Words are separated by
// spaces; a sub-command of two words is written with a colon. An empty rule
// means that it only reads or builds. The first line that fits is taken.
type subRule struct {
	programs string
	subs     string // "*" fits anything, "-" fits a call without operands
	rule     string
	unless   string // options that make it harmless
}

// subRules is the table of programs whose sub-commands decide.
var subRules = [...]subRule{
	// Packages.
	{"npm pnpm", "dist-tag:ls dist-tag:list owner:ls owner:list access:list team:ls", "cloud-read", ""},
	{"npm pnpm yarn bun lerna", "publish unpublish deprecate npm:publish owner access dist-tag star team org token adduser login logout hook", "publish", "--dry-run"},
	{"npm", "whoami view search ls list outdated test t tst start run run-script explain fund help root prefix bin pack", "", ""},
	{"npm pnpm yarn bun", "config:set set", "package-config", ""},
	{"npm pnpm yarn bun", "install i ci add update upgrade up remove rm uninstall un link rebuild dedupe import fetch install-test it clean-install audit:fix create init:* dlx exec x global policies set:version", "packages", "--help"},
	{"yarn pnpm bun", "-", "packages", "--version -v --help -h"},
	{"npx bunx pnpx uvx", "*", "package-run", "--version --help --no-install"},
	{"pipx", "run install inject upgrade upgrade-all reinstall uninstall ensurepath runpip", "package-run", ""},
	{"pip", "install uninstall download wheel", "packages", "--help --dry-run"},
	{"pip", "config:set", "package-config", ""},
	{"uv", "publish", "publish", "--dry-run"},
	{"uv", "tool:run tool:install", "package-run", ""},
	{"uv", "sync add remove lock pip:install pip:uninstall pip:sync python:install self:update", "packages", ""},
	{"poetry hatch flit pdm rye maturin", "publish", "publish", "--dry-run"},
	{"poetry pdm rye pipenv", "install add update remove sync lock uninstall upgrade self:update", "packages", ""},
	{"pdm rye", "-", "", ""},
	{"twine", "upload register", "publish", ""},
	{"conda mamba micromamba", "install create update remove env:create env:update upgrade uninstall", "packages", "--dry-run"},
	{"pixi", "install add update remove global:install", "packages", ""},
	{"cargo", "publish yank login logout owner", "publish", "--dry-run"},
	{"cargo", "install add update fetch remove uninstall vendor generate-lockfile binstall", "packages", "--dry-run"},
	{"go", "get install mod:download mod:tidy mod:vendor work:sync", "packages", ""},
	{"go", "env", "package-config-go", ""},
	{"gem", "push yank owner signin", "publish", ""},
	{"gem", "install update uninstall fetch", "packages", ""},
	{"bundle bundler", "install update add remove -", "packages", ""},
	{"composer", "install update require remove create-project global", "packages", "--dry-run"},
	{"brew port", "install upgrade update uninstall reinstall tap remove cleanup link bundle", "packages", ""},
	{"brew", "services", "service", "list"},
	{"apt apt-get aptitude dnf yum zypper apk opkg", "install update upgrade dist-upgrade full-upgrade add del groupinstall reinstall build-dep fix", "packages", "--dry-run -s --simulate --help"},
	{"apt apt-get aptitude dnf yum zypper apk", "remove purge autoremove erase autoclean clean", "packages-remove", "--dry-run -s"},
	{"pacman yay paru", "-S* -U* -Sy* -R*", "packages", ""},
	{"dpkg rpm snap flatpak emerge xbps-install pkg pkg_add nix-env", "-i* -U* -e* --install --remove --purge -r -P install remove refresh -iA add delete", "packages", ""},
	{"snap flatpak emerge xbps-install pkg_add", "*", "packages", "list info search find --version"},
	{"choco scoop winget", "install upgrade uninstall", "packages", ""},
	{"nix", "profile:install run shell build develop flake:update", "packages", ""},
	{"rustup nvm fnm volta asdf mise pyenv rbenv sdk tfenv goenv nodenv jenv n corepack", "install update add upgrade toolchain:install component:add target:add self:update plugin:add enable prepare global default", "packages", ""},
	{"pre-commit", "install autoupdate install-hooks uninstall", "packages", ""},
	{"stack cabal", "upload", "publish", ""},
	{"stack cabal opam luarocks mix nimble dub pub dart flutter spago rebar3 vcpkg conan cpan cpanm cpanminus mint gleam", "install update upgrade deps.get deps.update pub:get pub:upgrade pub:add get add setup require remove", "packages", ""},
	{"cpan cpanm", "*", "packages", "--version --help"},
	{"mix", "hex.publish hex.user hex.owner", "publish", ""},
	{"dart flutter pub", "pub:publish publish lish", "publish", "--dry-run"},
	{"luarocks", "upload", "publish", ""},
	{"pod", "trunk:push repo:push", "publish", ""},
	{"pod", "install update", "packages", ""},
	{"dotnet nuget", "nuget:push push nuget:delete", "publish", ""},
	{"dotnet", "add restore tool:install tool:update workload:install new:install", "packages", ""},
	{"nuget", "install restore update", "packages", ""},
	{"mvn mvnw gradle gradlew sbt", "deploy deploy:* release:* publish publish* *publish uploadArchives bintrayUpload site-deploy release closeAndRelease* nexus-staging:* publishSigned", "publish", "--dry-run -DdryRun=true publishToMavenLocal publishLocal"},
	{"mvn mvnw", "dependency:resolve dependency:go-offline dependency:get dependency:copy-dependencies versions:use-latest-versions wrapper:wrapper", "packages", ""},
	{"lein", "deploy release", "publish", ""},
	{"conan", "upload", "publish", "--dry-run"},
	{"jfrog jf", "rt:upload rt:u rt:delete rt:del rt:build-publish rt:docker-push", "publish", "--dry-run"},
	{"fastlane", "release deploy beta deliver supply pilot publish", "publish", ""},
	{"hub", "release:create release:edit pull-request fork create push merge", "publish", ""},
	{"svn svnadmin", "commit ci delete del remove import copy cp mkdir", "publish", ""},
	{"svn hg fossil bzr cvs", "checkout co export update up switch clone pull", "git-fetch", ""},
	{"hg", "push", "publish", ""},
	{"playwright cypress puppeteer", "install install-deps", "packages", "--dry-run"},
	{"nix-shell", "-p --packages", "packages", ""},
	{"vsce ovsx jsr clojars", "publish unpublish", "publish", "--dry-run"},
	{"deno", "publish", "publish", "--dry-run"},
	{"deno", "install cache add", "packages", ""},
	{"semantic-release release-it np", "* -", "publish", "--dry-run -d --help --version"},
	{"changeset", "publish", "publish", ""},
	{"lerna nx", "publish release", "publish", "--dry-run"},
	{"goreleaser", "release publish continue", "publish", "--snapshot --skip=publish --skip-publish"},
	{"ko jib", "publish apply resolve", "publish", ""},
	// Containers.
	{"docker podman nerdctl buildah ctr crictl finch", "push image:push manifest:push compose:push login logout buildx:imagetools trust:sign trust:key", "container-push", ""},
	{"docker podman nerdctl", "volume:rm volume:prune system:prune volume:remove builder:prune image:prune container:prune network:prune swarm service stack node secret config plugin context:rm machine compose:rm", "container-destroy", "ls list inspect ps"},
	{"docker podman nerdctl buildah ctr crictl finch", "run create build buildx:build buildx:bake pull exec rm rmi stop start restart kill cp commit load import compose:up compose:down compose:run compose:exec compose:build compose:pull compose:restart compose:stop compose:start compose:kill compose:create container:rm container:stop container:run container:exec image:rm image:pull image:build network:create network:rm network:connect volume:create pause unpause update rename image:load attach builder:build bud unshare mount from", "container", "--help"},
	{"docker-compose podman-compose", "up down run exec build pull restart stop start kill rm create", "container", "--help"},
	{"docker-compose podman-compose", "push", "container-push", ""},
	{"skopeo crane oras regctl cosign notation", "copy sync push delete append mutate tag sign attach attest rebase", "container-push", ""},
	{"kind minikube k3d vagrant multipass lima limactl colima", "create start up delete destroy stop halt provision load import", "container", ""},
	// What others run: infrastructure and hosting.
	{"kubectl oc k microk8s.kubectl", "delete", "infrastructure-delete", "--dry-run=client --dry-run=server --help"},
	{"kubectl oc k", "apply create replace patch edit scale rollout:restart rollout:undo rollout:pause set expose run drain cordon uncordon taint label annotate exec cp attach debug autoscale certificate proxy adm config:set-context config:use-context config:delete-context port-forward auth:reconcile new-app start-build", "infrastructure", "--dry-run=client --dry-run=server --dry-run --help"},
	{"helm helmfile", "uninstall delete destroy", "infrastructure-delete", "--dry-run"},
	{"helm helmfile", "install upgrade rollback push sync apply registry:login", "infrastructure", "--dry-run"},
	{"helm", "repo:add repo:update pull dependency:update dependency:build plugin:install", "packages", ""},
	{"terraform tofu terragrunt pulumi cdktf", "destroy state:rm workspace:delete stack:rm run-all:destroy", "infrastructure-delete", ""},
	{"terraform tofu terragrunt pulumi cdktf", "apply import taint untaint state:mv state:push refresh up force-unlock login run-all:apply deploy workspace:new cancel", "infrastructure", ""},
	{"terraform tofu terragrunt", "init get", "packages", ""},
	{"packer", "build", "infrastructure", ""},
	{"ansible-playbook ansible ansible-pull", "* -", "infrastructure", "--check --syntax-check --list-hosts --list-tasks --version --help -C"},
	{"ansible-galaxy", "install collection:install role:install", "packages", ""},
	{"ansible-vault", "view decrypt", "secret-read", ""},
	{"chef-client puppet salt salt-call knife fab cap capistrano kamal mina nomad", "apply agent deploy run job:run state.apply bootstrap production setup redeploy", "infrastructure", "--noop"},
	{"salt chef-client puppet", "* -", "infrastructure", "--version --help"},
	{"cdk sam serverless sls copilot eb amplify chalice zappa up sst apex", "deploy destroy remove publish push terminate create update", "infrastructure", ""},
	{"vercel netlify fly flyctl wrangler firebase surge now railway render dokku heroku caprover platform cf pagescli gh-pages supabase", "deploy deploy:* --prod publish destroy delete rollback - launch scale apps:destroy secrets:set pages:deploy functions:deploy up remove db:push secrets ps:restart pg:reset config:set restart releases:rollback apps:create addons:destroy domains:add", "infrastructure", "--help --version"},
	{"argocd flux eksctl kops kubeadm rancher istioctl velero", "app:sync app:delete create delete upgrade reconcile bootstrap reset join init uninstall install restore suspend resume update", "infrastructure", ""},
	{"aws", "s3:ls help", "cloud-read", ""},
	{"doctl linode-cli hcloud scw exo ibmcloud oci vultr-cli", "*", "infrastructure", "list get describe version show"},
	// Repositories elsewhere.
	{"gh glab hub tea", "repo:delete release:delete run:delete repo:archive", "remote-delete", "--help"},
	{"gh glab tea", "auth:token", "secret-read", ""},
	{"gh glab", "auth:status", "auth-status", ""},
	{"gh glab hub tea", "secret:list ssh-key:list gpg-key:list alias:list pr:view pr:list pr:diff pr:checks pr:status issue:view issue:list issue:status run:list run:view run:watch repo:view repo:list release:list release:view workflow:list workflow:view search gist:list gist:view label:list status browse mr:view mr:list mr:diff ci:status ci:view ci:list cache:list ruleset:list variable:list project:list attestation:verify", "remote-read", ""},
	{"gh glab hub tea", "pr:checkout repo:clone run:download release:download mr:checkout extension:list gist:clone", "git-fetch", ""},
	{"gh glab hub tea", "pr issue release repo run workflow gist secret variable label auth ssh-key gpg-key alias extension cache codespace project ruleset mr ci deploy-key", "remote-change", "--help"},
	{"bfg git-filter-repo", "* -", "git-rewrite", "--help --version"},
	{"runc crun youki", "run create exec start restore", "container-control", ""},
	{"act", "* -", "container", "--list -l --version --help -n --dryrun"},
	// Credentials.
	{"aws", "configure:get configure:export-credentials sts:get-session-token sts:assume-role secretsmanager:get-secret-value ssm:get-parameter ecr:get-login-password ssm:get-parameters codeartifact:get-authorization-token", "secret-read", ""},
	{"gcloud", "auth:print-access-token auth:print-identity-token secrets:versions auth:application-default config:config-helper", "secret-read", ""},
	{"az", "account:get-access-token keyvault:secret acr:login", "secret-read", ""},
	{"vault", "read kv:get print token:lookup login", "secret-read", ""},
	{"pass gopass op bw lpass keepassxc-cli chamber doppler sops age berglas", "show read get item:get export decrypt -d --decrypt secrets clip", "secret-read", ""},
	{"security", "find-generic-password find-internet-password dump-keychain export", "secret-read", ""},
	{"secret-tool keyctl kwallet-query", "lookup search print pipe read", "secret-read", ""},
	{"heroku", "auth:token config", "secret-read", ""},
	{"docker-credential-desktop docker-credential-osxkeychain docker-credential-secretservice docker-credential-pass", "get list", "secret-read", ""},
	{"ssh-copy-id", "*", "remote-machine", ""},
}

// table rates programs by their sub-command.
func (m *machine) table(c command) (string, bool) {
	if out, ok := m.tools(c); ok {
		return out, true
	}
	if c.asksHelp() {
		return unknown, false
	}
	name := c.name
	lists := c.operandReadings(programOptions(name))
	found := false
	for _, r := range subRules {
		if !hasWord(r.programs, name) {
			continue
		}
		found = true
		for _, ops := range lists {
			if !fitsAny(r.subs, ops, c) {
				continue
			}
			if r.rule == "" || r.unless != "" && c.exactly(strings.Fields(r.unless)...) {
				return m.passOn(c), true
			}
			return m.subCommand(c, r, ops), true
		}
	}
	if found && len(lists[0]) > 0 && lists[0][0].s == unknown {
		m.r.hit("unknown-command", c.line())
	}
	return m.afterTable(c, found)
}

// afterTable follows programs of the table whose sub-command is not in it.
func (m *machine) afterTable(c command, found bool) (string, bool) {
	if out, ok := m.cloud(c); ok {
		return out, true
	}
	if found {
		m.inner(c)
	}
	return m.passOn(c), found
}

// programOptions lists the options of a program, before its sub-command,
// that have a value of their own.
func programOptions(name string) []string {
	switch name {
	case "kubectl", "oc", "k", "helm":
		return []string{"n", "namespace", "context", "kubeconfig", "cluster", "user", "s", "server", "f", "filename", "l", "selector", "o", "output", "kube-context"}
	case "docker", "podman", "nerdctl", "docker-compose":
		return []string{"H", "host", "c", "context", "f", "file", "p", "project-name", "l", "log-level", "config"}
	case "npm", "pnpm", "yarn", "bun":
		return []string{"prefix", "C", "cwd", "w", "workspace", "filter", "F", "registry", "loglevel", "dir", "userconfig", "cache"}
	case "cargo", "go":
		return []string{"manifest-path", "C", "config", "Z", "color", "target-dir"}
	case "mvn", "mvnw", "gradle", "gradlew":
		return []string{"f", "file", "P", "pl", "p", "b", "s", "settings", "I", "init-script", "c", "x"}
	case "gh", "glab":
		return []string{"R", "repo", "hostname"}
	case "apt", "apt-get", "dnf", "yum":
		return []string{"o", "t", "c", "option", "config-file"}
	case "pip", "uv", "poetry", "pdm":
		return []string{"python", "C", "directory", "project", "p", "log", "proxy", "cache-dir"}
	case "terraform", "tofu", "pulumi", "aws", "gcloud", "az":
		return []string{"profile", "region", "output", "project", "cwd", "stack", "s", "C", "account", "query"}
	case "bundle", "gem", "composer":
		return []string{"d", "working-dir", "gemfile"}
	case "ansible-playbook", "ansible":
		return []string{"i", "e", "l", "u", "t"}
	}
	return nil
}

// operandReadings are the operands of a command; when an option that nobody
// knows stands before the first, also without the first.
func (c command) operandReadings(takes []string) [][]arg {
	var out [][]arg
	ops := c.operands(takes...)
	out = append(out, ops)
	for i, a := range c.args {
		if len(a.s) < 2 || a.s[0] != '-' {
			if i > 0 && len(ops) > 1 && len(c.args[i-1].s) > 1 && c.args[i-1].s[0] == '-' && !strings.Contains(c.args[i-1].s, "=") {
				out = append(out, ops[1:])
			}
			break
		}
	}
	return out
}

// fitsAny reports whether the operands begin with one of the sub-commands.
func fitsAny(subs string, ops []arg, c command) bool {
	for s := range strings.FieldsSeq(subs) {
		switch {
		case s == "-":
			if len(ops) == 0 {
				return true
			}
		case s[0] == '-' && len(s) > 1:
			for _, a := range c.args {
				if a.s == s || strings.HasSuffix(s, "*") && strings.HasPrefix(a.s, strings.TrimSuffix(s, "*")) {
					return true
				}
			}
		case len(ops) == 0:
		case s == "*" || fitsWord(s, ops, hasWord("mvn mvnw gradle gradlew sbt lein", c.name)):
			return true
		}
	}
	return false
}

// fitsWord compares the operands with one sub-command. With anywhere it may
// be any of them, as the goals of a build are.
func fitsWord(s string, ops []arg, anywhere bool) bool {
	first, second, two := strings.Cut(s, ":")
	if two && len(ops) > 1 && first == ops[0].s && (second == "*" || second == ops[1].s) {
		return true
	}
	for i, a := range ops {
		word := a.s
		if i > 0 && !anywhere {
			break
		}
		if word == s {
			return true
		}
		if strings.Contains(s, "*") && (!two || anywhere) {
			if ok, err := path.Match(s, word); err == nil && ok {
				return true
			}
		}
		if two && (second == "*" && strings.HasPrefix(word, first+":") || strings.Contains(word, ":") && word == s) {
			return true
		}
	}
	return false
}
