package shell

import "strings"

// metadataOnly reports whether a program does not read what its arguments
// name, so that naming a credential is harmless.
func metadataOnly(c command) bool {
	switch c.name {
	case "ls", "stat", "test", "[", "touch", "mkdir", "rm", "rmdir", "chmod", "chown", "find", "dirname", "basename", "realpath", "readlink", "echo", "printf", "cd", "export", "unset", "trap", "alias",
		"ssh-keygen", "ssh-add", "which", "type", "git", "sudo", "env", "command", "eval", "xargs", "timeout", "nohup", "source", ".", "du", "df", "ssh", "mosh", "kubectl", "helm", "docker", "podman", "docker-compose",
		"python", "node", "perl", "ruby", "php", "sh", "bash", "zsh", "dash", "ksh", "tee", "truncate", "shred", "unlink", "tree", "kill", "sleep", "gh", "set", "declare", "local", "readonly", "seq", "true", "false", ":", "exec", "time", "nice", "watch", "flock", "sops", "curl", "wget", "npm", "pip", "go", "dotenv", "gosu", "doas", "stdbuf", "setsid", "busybox", "file", "nc", "ncat", "socat", "scp", "sftp", "rsync", "certbot", "mkcert", "read", "mapfile":
		return true
	case "sed", "gsed":
		return c.has("i", "in-place")
	case "grep", "rg":
		return c.has("q", "quiet", "c", "l", "L")
	case "ln":
		return true
	}
	return wrapsCommand(c.name)
}

func wrapsCommand(name string) bool {
	_, ok := wrapperOf(name)
	return ok
}

// writesAnyway reports whether an option makes a tool that reads write.
func writesAnyway(c command) bool {
	switch c.name {
	case "gofmt":
		return c.has("w")
	case "sort", "tree":
		return c.has("o", "output")
	case "yq", "xmllint":
		return c.has("i", "inplace", "output")
	case "fd":
		return c.has("x", "X", "exec")
	}
	return false
}

// readsOnly reports whether a command is known to change nothing.
func readsOnly(c command) bool {
	switch c.name {
	case "ls", "cat", "head", "tail", "grep", "egrep", "fgrep", "rg", "ag", "ack", "wc", "sort", "uniq", "cut", "tr", "nl", "tac", "rev", "fold", "fmt", "paste", "join", "comm", "column", "diff", "cmp", "colordiff",
		"stat", "file", "du", "df", "pwd", "echo", "printf", "true", "false", ":", "test", "[", "whoami", "id", "groups", "uname", "which", "type", "whereis", "basename", "dirname", "realpath", "readlink", "tree", "less", "more", "od", "xxd",
		"hexdump", "strings", "md5sum", "sha1sum", "sha256sum", "sha512sum", "shasum", "cksum", "b2sum", "seq", "sleep", "ps", "uptime", "free", "nproc", "lscpu", "arch", "tty", "locale", "cal", "jq", "yq", "xmllint", "tokei", "cloc", "scc", "fd", "bat", "exa", "eza", "expr", "bc", "numfmt", "getconf", "look", "zcat", "zgrep", "base64", "cd", "date", "hostname", "lsof", "lsblk", "env", "command", "nice", "time", "timeout", "stdbuf", "xargs", "nohup", "export", "local", "declare", "readonly", "set", "shift", "exit", "return", "break", "continue", "read", "wait", "gofmt", "pgrep", "man", "printenv", "iconv":
		return !writesAnyway(c)
	case "find":
		return !c.exactly("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls", "-fprint0")
	case "sed":
		return !c.has("i", "in-place") && !strings.Contains(c.line(), "w ")
	case "awk", "gawk", "mawk":
		return !strings.ContainsAny(strings.Join(texts(c.args), " "), ">|") && !strings.Contains(c.line(), "system")
	case "git":
		return true // the sub-command decides
	case "go":
		ops := c.operands("C")
		return len(ops) > 0 && baseIs(ops[0].s, "version", "list", "env", "doc", "help") && !c.exactly("-w", "-u")
	case "gh":
		return false
	}
	return wrapsCommand(c.name)
}
