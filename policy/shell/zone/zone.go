// Package zone says where a path lies, as far as harm is concerned, and which
// paths, names and addresses lead to credentials. It knows the spelling of a
// path only: it reads nothing.
package zone

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/pattern"

	"github.com/handrail-bot/handrail/policy/shell/mark"
)

// Zone is where a path lies.
type Zone int

// The zones of the file system.
const (
	Workspace Zone = iota // in the working directory
	Nowhere               // /dev/null and the like
	Temp                  // in a directory for temporary files
	Root                  // the working directory itself, or all in it
	Git                   // git's own directory
	Runner                // workflow files and what later steps read
	Obeyed                // settings that tools read without being asked
	Above                 // above the working directory
	Home                  // in a home directory
	Startup               // read by programs when they start
	Outside               // elsewhere on the machine
	System                // a directory the system needs
	Vital                 // a file or directory the system cannot do without
	Device                // a raw device
	Unknown               // only known when it runs
)

// RunnerFiles is the directory of the files through which a step tells a
// runner something.
const RunnerFiles = "/github/file_commands/"

// Clean makes one spelling of a path: "~" for every home directory, no
// doubled slashes or dots, "." for the workspace.
func Clean(p string) string {
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

// Under reports whether p is one of the directories or in one.
func Under(p string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool {
		return p == d || strings.HasPrefix(p, d) && p[len(d)] == '/'
	})
}

// Of says where a clean path lies.
func Of(p string) Zone {
	switch {
	case !mark.Known(p) && strings.IndexAny(p, mark.All) < 2:
		return Unknown
	case strings.HasPrefix(p, "/dev/") || p == "/dev":
		return devicePlace(p)
	case strings.HasPrefix(p, RunnerFiles):
		if Under(p, RunnerFiles+"GITHUB_OUTPUT", RunnerFiles+"GITHUB_STEP_SUMMARY", RunnerFiles+"GITHUB_STATE") {
			return Nowhere
		}
		return Runner
	case strings.Contains(p, "/_runner_file_commands/"):
		return Runner
	case strings.HasPrefix(p, "/"):
		return absolutePlace(p)
	case strings.HasPrefix(p, "~"):
		return homePlace(p)
	case p == ".." || strings.HasPrefix(p, "../"):
		return Above
	}
	return workspacePlace(p)
}

func devicePlace(p string) Zone {
	if Under(p, "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/fd", "/dev/full") {
		return Nowhere
	}
	if Under(p, "/dev/shm") && p != "/dev/shm" {
		return Temp
	}
	if p == "/dev" {
		return System
	}
	return Device
}

func absolutePlace(p string) Zone {
	switch {
	case p == "/", p == "/*", p == "/.*":
		return Vital
	case Under(p, "/tmp", "/var/tmp", "/private/tmp"):
		if strings.Count(p, "/") < 2 || p == "/var/tmp" || p == "/tmp/*" {
			return Outside
		}
		return Temp
	case Under(p, "/etc/passwd", "/etc/shadow", "/etc/gshadow", "/etc/group", "/etc/sudoers", "/etc/sudoers.d", "/etc/pam.d",
		"/etc/ld.so.preload", "/etc/fstab", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin",
		"/usr/lib", "/usr/lib64", "/usr/libexec", "/efi", "/proc/sysrq-trigger", "/proc/kcore", "/System", "/Windows", "/var/lib/dpkg"):
		return Vital
	case p == "/home", p == "/usr", p == "/etc", p == "/var", p == "/opt", p == "/srv", p == "/root", p == "/home/*", p == "/Users",
		p == "/mnt", p == "/media", p == "/run", p == "/usr/local", p == "/usr/share", p == "/Library", p == "/Applications", p == "/var/log", p == "/var/lib":
		return Vital
	case Under(p, "/etc/profile", "/etc/profile.d", "/etc/environment", "/etc/bash.bashrc", "/etc/cron.d", "/etc/crontab",
		"/etc/cron.daily", "/etc/cron.hourly", "/etc/systemd", "/etc/init.d", "/etc/rc.local", "/etc/ld.so.conf.d", "/etc/ssh", "/var/spool/cron"):
		return Startup
	case Under(p, "/etc", "/usr", "/var/lib", "/proc", "/sys", "/Library", "/var/run/docker.sock"):
		return System
	}
	return Outside
}

func homePlace(p string) Zone {
	if p == "~" || p == "~/*" || p == "~/.*" {
		return Vital
	}
	rest := strings.TrimPrefix(p, "~/")
	if Under(rest, ".cache", "go/pkg", "go/bin", ".npm", ".gradle/caches", ".m2/repository", ".cargo/registry", ".local/share/virtualenvs") {
		return Temp
	}
	if Under(rest, ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".login", ".cshrc",
		".inputrc", ".ssh", ".gnupg", ".gitconfig", ".config/git", ".config/fish", ".config/autostart", ".config/systemd", ".xinitrc", ".xsession",
		".vimrc", ".config/nvim", ".emacs", ".tmux.conf", ".npmrc", ".pypirc", ".netrc", ".aws", ".kube", ".docker", ".cargo/config", ".cargo/config.toml",
		".cargo/credentials", ".git-credentials", ".pam_environment", ".crontab", "Library/LaunchAgents", ".local/bin", "bin", ".pip", ".config/pip", ".gdbinit",
		".condarc", ".curlrc", ".wgetrc", ".config/gh", ".config/gcloud", ".azure", ".terraformrc", ".m2/settings.xml", ".gradle/init.gradle", ".gradle/gradle.properties") {
		return Startup
	}
	if strings.Contains(rest, "-packages/") && (baseIs(rest, "usercustomize.py", "sitecustomize.py") || strings.HasSuffix(rest, ".pth")) {
		return Startup
	}
	if lower := strings.ToLower(rest); obeyed(lower) && !Under(lower, ".config", ".direnv") {
		return Startup
	}
	return Home
}

func workspacePlace(p string) Zone {
	lower := strings.ToLower(p)
	switch {
	case p == "." || p == "*" || p == ".*" || p == ".[!.]*" || p == "**":
		return Root
	case Under(lower, ".git/hooks") || strings.Contains(lower, "/.git/hooks/") || Under(lower, ".githooks", ".husky"):
		return Runner
	case Under(lower, ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".travis.yml", "jenkinsfile",
		"azure-pipelines.yml", ".gitea/workflows", ".forgejo/workflows", ".drone.yml", ".woodpecker", ".woodpecker.yml", "bitbucket-pipelines.yml", ".buildkite", ".github/codeowners", "codeowners", "docs/codeowners") || lower == ".github":
		return Runner
	case Under(lower, ".git") || strings.Contains(lower, "/.git/") || strings.HasSuffix(lower, "/.git"):
		return Git
	case obeyed(lower):
		return Obeyed //control:obeyed-files
	}
	return Workspace
}

// CouldBe lists the paths of the system that a glob may stand for.
func CouldBe(pat string) []string {
	if pat == "" {
		return nil
	}
	re, ok := Glob(path.Clean(pat), pattern.EntireString|pattern.Filenames|pattern.NoGlobStar)
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

// Glob compiles a shell pattern.
func Glob(pat string, mode pattern.Mode) (*regexp.Regexp, bool) {
	if !mark.Known(pat) || len(pat) > 4096 {
		return nil, false
	}
	expr, err := pattern.Regexp(pat, mode|pattern.ExtendedOperators)
	if err != nil {
		return nil, false
	}
	re, err := regexp.Compile(expr)
	return re, err == nil
}
