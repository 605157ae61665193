package shell

import "strings"

// gitRead is for sub-commands that read, unless an option says otherwise.
func (m *machine) gitRead(sub string, g command) string {
	switch sub {
	case "branch":
		switch {
		case g.has("D") || g.has("delete", "d") && g.has("force", "f"):
			m.r.hit("git-branch-force", g.line())
			if !known(strings.Join(texts(g.args), " ")) {
				m.r.hit("git-refs", g.line())
			}
		case g.has("delete", "d"), g.has("M", "m", "move", "force", "f", "C"):
			m.r.hit("git-local", g.line())
		}
	case "tag":
		if g.has("delete", "d", "force", "f") && !g.has("l", "list") {
			m.r.hit("git-local", g.line())
		}
	case "for-each-ref", "show-ref":
		format, _ := g.value("format")
		if strings.Contains(format, "delete") {
			return "delete refs/" + unknown + "\n"
		}
		if g.has("shell", "perl", "python", "tcl") {
			return unknown
		}
	}
	return "found-" + unknown
}

// gitChange rates the sub-commands that change the repository.
func (m *machine) gitChange(sub string, g command) {
	switch sub {
	case "reset":
		if g.has("hard", "merge", "keep") {
			m.r.hit("git-discard", g.line())
		} else if g.has("soft", "mixed") {
			m.r.hit("git-local", g.line())
		}
	case "clean":
		if g.has("n", "dry-run") {
			return
		}
		if g.has("x", "X") || g.has("d") {
			m.r.hit("git-discard", g.line())
		} else {
			m.r.hit("git-local", g.line())
		}
	case "checkout", "switch", "restore":
		m.gitCheckout(sub, g)
	case "stash":
		if g.exactly("clear") {
			m.r.hit("git-discard", g.line())
		} else if g.exactly("drop") {
			m.r.hit("git-local", g.line())
		}
	case "reflog":
		if g.exactly("expire", "delete") {
			m.r.hit("git-refs", g.line())
		}
	case "gc", "prune", "repack", "prune-packed":
		if strings.Contains(g.line(), "prune=now") || strings.Contains(g.line(), "prune=all") || sub == "prune" {
			m.r.hit("git-refs", g.line())
		}
	case "commit":
		if g.has("amend") {
			m.r.hit("git-local", g.line())
		}
	case "rebase", "replace", "symbolic-ref", "worktree":
		m.gitMinor(sub, g)
	case "rm", "mv":
		m.gitRemove(sub, g)
	case "bisect":
		if len(g.args) > 1 && g.args[0].s == "run" {
			m.r.hit("git-program", g.line())
			m.exec(g.args[1:])
		}
	case "daemon", "http-backend", "instaweb", "send-email", "imap-send", "svn", "p4", "send-pack", "cvsserver", "upload-pack", "receive-pack", "http-push":
		m.gitServe(sub, g)
	case "lfs":
		if g.exactly("push") {
			m.r.hit("git-push", g.line())
		} else if g.exactly("pull", "fetch", "install", "prune") {
			m.r.hit("git-fetch", g.line())
		}
	case "maintenance":
		if g.exactly("start", "register") {
			m.r.hit("git-config-wide", g.line())
		}
	case "apply", "am":
		if g.has("unsafe-paths") {
			m.r.hit("write-unknown", g.line())
		}
	case "archive":
		if v, ok := g.value("o", "output"); ok {
			m.write(m.resolve(v))
		}
	case "format-patch":
		if v, ok := g.value("o", "output-directory"); ok {
			m.write(m.resolve(v))
		}
	}
}

func (m *machine) gitServe(sub string, g command) {
	m.r.network = true
	if sub == "svn" && !g.exactly("dcommit") || sub == "p4" && !g.exactly("submit") {
		m.r.hit("git-fetch", g.line())
		return
	}
	if sub == "daemon" || sub == "http-backend" || sub == "instaweb" {
		m.r.hit("listens", g.line())
		return
	}
	m.r.hit("git-push", g.line())
}

func (m *machine) gitCheckout(sub string, g command) {
	ops := g.operands("b", "B", "c", "C", "s", "source", "orphan", "pathspec-from-file")
	discards := g.exactly("--") || g.has("force", "f", "discard-changes") || sub == "restore" && (!g.has("staged", "S") || g.has("worktree", "W"))
	for _, a := range ops {
		p := m.resolve(a.s)
		if a.s == "." || a.s == ":/" || a.s == "./" || a.s == "*" {
			discards = true
		}
		if g.exactly("--") || sub == "restore" {
			m.r.writes = addTo(m.r.writes, shownPath(p))
		}
		if placeOf(p) == placeRunner {
			m.write(p)
		}
	}
	if g.has("B", "C") && sub != "restore" {
		m.r.hit("git-local", g.line())
	}
	if discards {
		m.r.hit("git-undo", g.line())
	}
}

func (m *machine) gitMinor(sub string, g command) {
	switch {
	case sub == "worktree" && !g.exactly("remove", "prune"):
		return
	case sub == "rebase" && g.exactly("--abort", "--continue", "--skip", "--quit", "--show-current-patch"):
		return
	case sub == "symbolic-ref" && len(g.operands()) < 2 && !g.has("d", "delete"):
		return
	}
	m.r.hit("git-local", g.line())
}

func (m *machine) gitRemove(sub string, g command) {
	ops := g.operands()
	for i, a := range ops {
		p := m.resolve(a.s)
		m.r.writes = addTo(m.r.writes, shownPath(p))
		if placeOf(p) == placeRunner {
			m.r.hit("write-workflow", p)
		}
		if sub == "rm" && !g.has("cached") && (g.has("r") || placeOf(p) == placeRoot) {
			m.r.hit("delete-tree", g.line())
		}
		if sub == "mv" && i == len(ops)-1 && i > 0 {
			m.writeTarget(a.s, ops[:i])
		}
	}
}

// gitReads reports whether a sub-command only reads the repository.
func gitReads(sub string, g command) bool {
	switch sub {
	case "log", "diff", "show", "status", "blame", "annotate", "shortlog", "describe", "rev-parse", "rev-list", "ls-files", "ls-tree", "cat-file", "grep", "for-each-ref", "show-ref", "merge-base", "name-rev",
		"diff-tree", "diff-index", "diff-files", "whatchanged", "cherry", "range-diff", "count-objects", "check-ignore", "check-attr", "check-ref-format", "fsck", "var", "verify-commit", "verify-tag", "show-branch", "help", "version", "--version", "get-tar-commit-id", "ls-remote", "check-mailmap", "patch-id", "column":
		return true
	case "branch":
		return len(g.operands("contains", "no-contains", "merged", "no-merged", "points-at", "sort", "format")) == 0 && !g.has("d", "D", "m", "M", "c", "C", "f", "delete", "move", "copy", "edit-description", "set-upstream-to", "u", "unset-upstream") || g.has("list", "l", "contains", "merged")
	case "tag":
		return len(g.args) == 0 || g.has("l", "list") || g.exactly("--points-at", "--contains")
	case "remote":
		return len(g.args) == 0 || g.exactly("-v", "show", "get-url") && !g.exactly("add", "remove", "rm", "rename", "set-url")
	case "config":
		return g.exactly("--get", "--get-all", "--get-regexp", "get") || len(g.operands()) == 1 && !g.has("unset", "edit", "e")
	case "stash":
		return g.exactly("list", "show")
	case "reflog":
		return len(g.args) == 0 || g.exactly("show")
	case "worktree":
		return g.exactly("list")
	case "submodule":
		return len(g.args) == 0 || g.exactly("status", "summary")
	case "bisect":
		return g.exactly("log", "view")
	case "notes":
		return len(g.args) == 0 || g.exactly("show", "list")
	case "symbolic-ref":
		return len(g.operands()) == 1 && !g.has("d", "delete")
	}
	return false
}
