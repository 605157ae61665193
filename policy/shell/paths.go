package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"
)

// place is where a path lies, as far as harm is concerned.
type place int

const (
	placeWorkspace place = iota // in the working directory
	placeNowhere                // /dev/null and the like
	placeTemp                   // in a directory for temporary files
	placeRoot                   // the working directory itself, or all in it
	placeGit                    // git's own directory
	placeRunner                 // workflow files and what later steps read
	placeAbove                  // above the working directory
	placeHome                   // in a home directory
	placeStartup                // read by programs when they start
	placeOutside                // elsewhere on the machine
	placeSystem                 // a directory the system needs
	placeVital                  // a file or directory the system cannot do without
	placeDevice                 // a raw device
	placeUnknown
)

// cleanPath makes one spelling of a path: "~" for every home directory, no
// doubled slashes or dots, "." for the workspace.
func cleanPath(p string) string {
	p = strings.ReplaceAll(strings.TrimPrefix(p, "file://"), "\\", "/")
	for _, alias := range []string{"/proc/self/cwd", "/github/workspace", "/workspace"} {
		if rest, ok := strings.CutPrefix(p, alias); ok && (rest == "" || rest[0] == '/') {
			p = "." + rest
		}
	}
	if rest, ok := strings.CutPrefix(p, "/proc/"); ok {
		if _, inner, ok := strings.Cut(rest, "/root"); ok && (inner == "" || inner[0] == '/') {
			p = "/" + inner
		}
	}
	if len(p) > 1 && p[1] == ':' && (len(p) == 2 || p[2] == '/') { // C:/
		p = "/" + p[2:]
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = "/home/~" + p[1:]
	}
	if p == "" {
		return "."
	}
	p = path.Clean(p)
	return homeShort(p)
}

// homeShort replaces the home directory at the start of an absolute path.
func homeShort(p string) string {
	for _, base := range []string{"/home/", "/Users/", "/export/home/"} {
		rest, ok := strings.CutPrefix(p, base)
		if !ok || rest == "" {
			continue
		}
		_, inner, found := strings.Cut(rest, "/")
		if !found {
			return "~"
		}
		return "~/" + inner
	}
	if p == "/root" || p == "/var/root" {
		return "~"
	}
	if rest, ok := strings.CutPrefix(p, "/root/"); ok {
		return "~/" + rest
	}
	return p
}

// resolve is a path from where the program is at that point.
func (m *machine) resolve(p string) string {
	if p == "" || strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 1 && p[1] == ':' {
		return cleanPath(p)
	}
	cwd, ok := m.get("PWD")
	if !ok || len(cwd) == 0 || cwd[0] == "." {
		return cleanPath(p)
	}
	return cleanPath(cwd[0] + "/" + p)
}

func under(p string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return p == d || strings.HasPrefix(p, d) && p[len(d)] == '/'
	})
}

// placeOf says where a clean path lies.
func placeOf(p string) place {
	switch {
	case !known(p) && strings.IndexAny(p, allMarks) < 2:
		return placeUnknown
	case strings.HasPrefix(p, "/dev/") || p == "/dev":
		return devicePlace(p)
	case strings.HasPrefix(p, runnerFiles):
		if under(p, runnerFiles+"GITHUB_OUTPUT", runnerFiles+"GITHUB_STEP_SUMMARY", runnerFiles+"GITHUB_STATE") {
			return placeNowhere
		}
		return placeRunner
	case strings.Contains(p, "/_runner_file_commands/"):
		return placeRunner
	case strings.HasPrefix(p, "/"):
		return absolutePlace(p)
	case strings.HasPrefix(p, "~"):
		return homePlace(p)
	case p == ".." || strings.HasPrefix(p, "../"):
		return placeAbove
	}
	return workspacePlace(p)
}

func devicePlace(p string) place {
	if under(p, "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/fd", "/dev/full") {
		return placeNowhere
	}
	if under(p, "/dev/shm") && p != "/dev/shm" {
		return placeTemp
	}
	if p == "/dev" {
		return placeSystem
	}
	return placeDevice
}

func absolutePlace(p string) place {
	switch {
	case p == "/", p == "/*", p == "/.*":
		return placeVital
	case under(p, "/tmp", "/var/tmp", "/private/tmp"):
		if strings.Count(p, "/") < 2 || p == "/var/tmp" || p == "/tmp/*" {
			return placeOutside
		}
		return placeTemp
	case under(p, "/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/group", "/etc/sudoers", "/etc/sudoers.d", "/etc/pam.d",
		"/etc/ld.so.preload", "/etc/fstab", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin",
		"/usr/lib", "/usr/lib64", "/usr/libexec", "/efi", "/proc/sysrq-trigger", "/proc/kcore", "/System", "/Windows", "/var/lib/dpkg"):
		return placeVital
	case p == "/home", p == "/usr", p == "/etc", p == "/var", p == "/opt", p == "/srv", p == "/root", p == "/home/*", p == "/Users",
		p == "/mnt", p == "/media", p == "/run", p == "/usr/local", p == "/usr/share", p == "/Library", p == "/Applications", p == "/var/log", p == "/var/lib":
		return placeVital
	case under(p, "/etc/profile", "/etc/profile.d", "/etc/environment", "/etc/bash.bashrc", "/etc/cron.d", "/etc/crontab",
		"/etc/cron.daily", "/etc/cron.hourly", "/etc/systemd", "/etc/init.d", "/etc/rc.local", "/etc/ld.so.conf.d", "/etc/ssh", "/var/spool/cron"):
		return placeStartup
	case under(p, "/etc", "/usr", "/var/lib", "/proc", "/sys", "/Library", "/var/run/docker.sock"):
		return placeSystem
	}
	return placeOutside
}

func homePlace(p string) place {
	if p == "~" || p == "~/*" || p == "~/.*" {
		return placeVital
	}
	rest := strings.TrimPrefix(p, "~/")
	if under(rest, ".cache", "go/pkg", "go/bin", ".npm", ".gradle/caches", ".m2/repository", ".cargo/registry", ".local/share/virtualenvs") {
		return placeTemp
	}
	if under(rest, ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".login", ".cshrc",
		".inputrc", ".ssh", ".gnupg", ".gitconfig", ".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".xinitrc", ".xsession",
		".vimrc", ".config/nvim", ".emacs", ".tmux.conf", ".npmrc", ".pypirc", ".netrc", ".aws", ".kube", ".docker", ".cargo/config", ".cargo/config.toml",
		".cargo/credentials", ".git-credentials", ".pam_environment", ".crontab", "Library/LaunchAgents", ".local/bin", "bin", ".pip", ".config/pip", ".gdbinit",
		".condarc", ".curlrc", ".wgetrc", ".config/gh", ".config/gcloud", ".azure", ".terraformrc", ".m2/settings.xml", ".gradle/init.gradle", ".gradle/gradle.properties") {
		return placeStartup
	}
	if strings.Contains(rest, "-packages/") && (baseIs(rest, "usercustomize.py", "sitecustomize.py") || strings.HasSuffix(rest, ".pth")) {
		return placeStartup
	}
	return placeHome
}

func workspacePlace(p string) place {
	lower := strings.ToLower(p)
	switch {
	case p == "." || p == "*" || p == ".*" || p == ".[!.]*" || p == "**":
		return placeRoot
	case under(lower, ".git/hooks") || strings.Contains(lower, "/.git/hooks/") || under(lower, ".githooks", ".husky"):
		return placeRunner
	case under(lower, ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".travis.yml", "jenkinsfile",
		"azure-pipelines.yml", ".gitea/workflows", ".forgejo/workflows", ".drone.yml", ".woodpecker", ".woodpecker.yml", "bitbucket-pipelines.yml", ".buildkite", ".github/codeowners", "codeowners", "docs/codeowners") || lower == ".github":
		return placeRunner
	case under(lower, ".git") || strings.Contains(lower, "/.git/") || strings.HasSuffix(lower, "/.git"):
		return placeGit
	}
	return placeWorkspace
}

// couldBe lists the paths of the system that a glob may stand for.
func couldBe(pat string) []string {
	if pat == "" {
		return nil
	}
	re, ok := globRegexp(path.Clean(pat), pattern.EntireString|pattern.Filenames|pattern.NoGlobStar)
	if !ok {
		return []string{"/"}
	}
	var out []string
	for _, p := range []string{
		"/etc", "/usr", "/bin", "/home", "/root", "/boot", "/lib", "/var", "/dev/sda", "/dev/nvme0n1", "/etc/passwd", "/etc/shadow",
		"/etc/sudoers", "/usr/bin", "/usr/lib", "/home/user", "~/.ssh", "/home/user/.ssh/id_rsa", "~/.ssh/id_rsa", "~/.npmrc",
		"~/.aws/credentials", "~/.git-credentials", ".git", ".git/objects", ".git/config", ".env", ".github/workflows/ci.yml", "/proc/self/environ", "/var/lib/postgresql",
	} {
		if re.MatchString(p) {
			out = append(out, p)
		}
	}
	return out
}

// places are the clean paths an argument may name.
func (m *machine) places(a arg) []string {
	out := []string{m.resolve(a.s)}
	if a.pat != "" {
		out = append(out, couldBe(m.resolve(a.pat))...)
		if strings.HasPrefix(a.pat, "/") && strings.Count(path.Clean(a.pat), "/") == 1 && strings.Trim(a.pat[1:], "*?/") == "" {
			out = append(out, "/")
		}
	}
	return out
}
