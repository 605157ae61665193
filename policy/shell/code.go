package shell

import (
	"encoding/base64"
	"strings"
)

// interpreter follows shells, and scans the program texts of languages that
// are not followed.
func (m *machine) interpreter(c command) (string, bool) {
	if isShell(c.name) {
		return m.shell(c), true
	}
	switch c.name {
	case "python", "pypy", "pypy3", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh", "wish", "Rscript", "R", "julia", "osascript",
		"pwsh", "powershell", "groovy", "scala", "elixir", "erl", "ipython", "ghc", "runghc", "guile", "irb", "jshell", "ts-node", "tsx", "swift",
		"raku", "racket", "sbcl", "clisp", "ecl", "clojure", "clj", "bb", "octave", "gnuplot", "ocaml", "ghci", "coffee", "crystal", "rdmd", "swipl", "jrunscript", "janet", "fennel", "jython", "micropython", "sage", "qjs", "php-cgi", "gforth", "kotlin", "nim", "hy":
		if (c.name == "bun" || c.name == "deno") && len(c.args) > 0 && !c.exactly("run", "eval", "-e", "-p", "--eval", "test", "-") && !strings.Contains(c.args[0].s, ".") {
			return "", false
		}
		return m.language(c), true
	case "vi", "vim", "nvim", "view", "ex", "ed", "emacs":
		return m.editor(c), true
	case "dc":
		for l := range strings.SplitSeq(strings.Join(texts(c.args), "\n")+"\n"+m.givenText(), "\n") {
			if code, ok := strings.CutPrefix(strings.TrimSpace(l), "!"); ok {
				m.r.hit("program-runs", c.line())
				m.nested(code)
			}
		}
		return unknown, true
	case "gdb", "lldb":
		return m.debugger(c), true
	}
	return "", false
}

// codeOption lists the options that hold a program text.
func codeOption(name string) []string {
	switch name {
	case "python", "pypy", "pypy3", "ipython", "jython", "micropython", "sage", "hy":
		return []string{"c"}
	case "raku", "racket", "clojure", "clj", "bb", "gnuplot", "ocaml", "ghc", "ghci", "coffee", "janet", "fennel", "qjs", "gforth", "nim", "kotlin", "swift":
		return []string{"e", "eval"}
	case "sbcl", "ecl", "octave", "rdmd", "crystal":
		return []string{"eval"}
	case "clisp":
		return []string{"x"}
	case "swipl":
		return []string{"g", "t"}
	case "jrunscript":
		return []string{"e"}
	case "php-cgi":
		return []string{"r"}
	case "pwsh", "powershell":
		return []string{"c", "Command", "EncodedCommand", "e", "enc"}
	case "php":
		return []string{"r", "B", "R", "E"}
	case "node", "nodejs", "bun", "ts-node", "tsx":
		return []string{"e", "eval", "p", "print", "pe"}
	case "elixir", "julia", "groovy", "scala", "lua", "luajit", "Rscript", "R", "osascript", "ruby", "guile":
		return []string{"e", "eval", "c"}
	case "perl":
		return []string{"e", "E"}
	case "erl":
		return []string{"eval"}
	}
	return nil
}

func (m *machine) language(c command) string {
	if c.asksHelp() || len(c.args) > 0 && c.exactly("--version", "-V") && len(c.args) == 1 {
		return unknown
	}
	if c.name == "python" || strings.HasPrefix(c.name, "pypy") {
		if mod, ok := c.value("m"); ok {
			return m.pythonModule(c, mod)
		}
	}
	if code, ok := m.inlineCode(c); ok {
		if strings.Contains(m.givenText(), remote) && codeRuns().MatchString(code) {
			m.r.hit("remote-code", c.line())
		}
		m.scanCode(c.name, code)
		return m.passOn(command{args: c.args})
	}
	for i, a := range c.args {
		if a.s == "eval" && (c.name == "deno" || c.name == "bun" || c.name == "crystal") && i+1 < len(c.args) {
			m.scanCode("node", c.args[i+1].s)
			return unknown
		}
	}
	ops := c.operands("W", "X", "r", "I", "l", "d", "require", "import", "loader", "C")
	if len(ops) > 1 && strings.HasSuffix(ops[0].s, "setup.py") && c.exactly("upload", "register") {
		m.r.hit("publish", c.line())
	}
	if (c.name == "deno" || c.name == "bun") && len(ops) > 0 && (ops[0].s == "run" || ops[0].s == "test" || ops[0].s == "task") {
		ops = ops[1:]
	}
	if len(ops) == 0 || ops[0].s == "-" {
		if m.given() {
			m.scanCode(c.name, m.stdin())
		}
		return unknown
	}
	return m.codeFile(c, ops[0])
}

// inlineCode collects every program text on the command line.
func (m *machine) inlineCode(c command) (string, bool) {
	var all []string
	names := codeOption(c.name)
	for i, a := range c.args {
		s := a.s
		if s == "--" {
			break
		}
		for _, n := range names {
			switch {
			case len(n) > 1 && (s == "--"+n || s == "-"+n), len(n) == 1 && len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.HasSuffix(s, n):
				if i+1 < len(c.args) {
					all = append(all, c.args[i+1].s)
				}
			case len(n) > 1 && strings.HasPrefix(s, "--"+n+"="):
				all = append(all, s[len(n)+3:])
			case len(n) == 1 && strings.HasPrefix(s, "-"+n) && len(s) > 2:
				all = append(all, s[2:])
			}
		}
	}
	for _, a := range c.args {
		if flag := map[string]string{"perl": "-M", "ruby": "-r"}[c.name]; len(all) > 0 && flag != "" && strings.HasPrefix(a.s, flag) {
			all = append(all, "use "+a.s[len(flag):]) // a library that the text calls
		}
	}
	return strings.Join(all, "\n"), len(all) > 0
}

func (m *machine) codeFile(c command, file arg) string {
	name := file.s
	if c.name == "php" || c.name == "python" || c.name == "ruby" {
		for i, a := range c.args {
			if a.s == name {
				m.databaseTask(command{name: programName(name), args: c.args[i+1:]})
				break
			}
		}
	}
	switch {
	case strings.Contains(name, remote) || strings.Contains(name, "://"):
		m.r.network = true
		m.r.hit("remote-code", c.line())
	case !known(name) && (strings.HasPrefix(name, unknown) || strings.HasPrefix(name, "found-"+unknown) || strings.HasSuffix(name, "/found-"+unknown)):
		m.r.hit("unknown-code", c.line())
	case globIn(name) != "":
		m.r.hit("many-scripts", c.line())
	case m.hasFile(m.resolve(name)):
		m.scanCode(c.name, m.files[m.resolve(name)])
	case strings.HasPrefix(name, "/dev/stdin") && m.given():
		m.scanCode(c.name, m.stdin())
	case m.readSecret(m.resolve(name)) == remote:
		m.r.hit("remote-code", c.line())
	}
	return unknown
}

func (m *machine) pythonModule(c command, mod string) string {
	var rest []arg
	for i, a := range c.args {
		if a.s == "-m" {
			rest = c.args[min(i+2, len(c.args)):]
			break
		}
		if strings.HasPrefix(a.s, "-m") {
			rest = c.args[i+1:]
			break
		}
	}
	switch mod {
	case "http.server", "SimpleHTTPServer":
		m.r.network = true
		if v, ok := (command{args: rest}).value("b", "bind"); ok && v != "0.0.0.0" && localAddress(v) {
			break
		}
		m.r.hit("listens", c.line())
	case "pip", "twine", "poetry", "build", "pipx", "uv", "hatch", "flit", "conda":
		return m.dispatch(command{name: mod, path: mod, args: rest})
	case "base64":
		if m.given() && command(command{args: rest}).has("d") {
			return m.convert(command{name: "base64", args: rest}, m.stdin())
		}
	case "timeit", "trace", "pdb", "cProfile", "profile", "runpy":
		for _, a := range rest {
			if strings.ContainsAny(a.s, "( ") {
				m.scanCode("python", a.s)
			}
		}
	case "smtpd", "ftplib", "telnetlib", "pyftpdlib":
		m.r.network = true
		m.r.hit("listens", c.line())
	}
	return unknown
}

var (
	codeJoin    = lazily(`(["'])\s*(?:\+|\.\.|\.)\s*(["'])`)
	codeString  = lazily(`"((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)'|` + "`([^`]*)`" + `|%x[\[({]([^\])}]*)[\])}]|\bq[qxw]?\s*\{([^}]*)\}|\bq[qxw]?\s*\(([^)]*)\)|\bq[qxw]?\s*[/|!]([^|!]*)[/|!]`)
	codeRuns    = lazily(`os\.system|os\.popen|os\.exec|os\.spawn|posix_spawn|subprocess|commands\.getoutput|pty\.spawn|child_process|execSync|execFile|spawnSync|\bspawn\(|\bsystem\b|\bexec\b|\bpopen\b|shell_exec|passthru|proc_open|IO\.popen|Open3|%x|\bqx\b|Kernel\.|Process\.spawn|os\.execute|io\.popen|Deno\.(?:run|Command)|Bun\.(?:\$|spawn)|do shell script|Start-Process|Invoke-Expression|\biex\b|Runtime\.getRuntime|ProcessBuilder|\.execute\(\)|sh!|os:cmd|System\.cmd|\.execute\b|run-program|\brun\(|\bshell\s*\(|\bshell\b|clojure\.java\.shell|\(sh\s|execShell|callCommand|readProcess|Sys\.command|\brun\s+["']|sys\.process|open\s*\(?[^;\n]*["']\s*\||\|\s*["']\s*\)|exec\.Command|Command::new|shell_output`)
	codeBack    = lazily("`[^`]+`")
	codeDelete  = lazily(`rmtree|remove_tree|rm_rf|rm_r\b|rmSync|rmdirSync|unlinkSync|\brm\(|\brmdir|\bunlink|removeSync|rimraf|os\.remove|removedirs|FileUtils\.rm|File\.delete|Dir\.delete|Deno\.remove|os\.rename|shutil\.move|renameSync|Remove-Item|file_delete|delete_recursive|os\.RemoveAll|remove_dir_all|fs::remove|Files\.delete|deleteRecursively|emptyDirSync|truncate`)
	codeWrite   = lazily(`["'](?:[wax]b?\+?|r\+b?|>>?)["']|write_text|write_bytes|writeFile|appendFile|createWriteStream|File\.write|file_put_contents|IO\.write|open\s*\(?\s*\w*,?\s*["']>|copyfile|shutil\.copy|copyFileSync|cp_r|symlink|chmod|chown|Set-Content|Out-File`)
	codeNet     = lazily(`TCPClient|Net\.Sockets|urllib|requests\.|http\.client|httpx|aiohttp|\bsocket\b|require\(["'](?:node:)?(?:https?|net|dgram|tls|dns)["']\)|\bfetch\(|axios|LWP|HTTP::|Net::HTTP|open-uri|URI\.open|IO::Socket|TCPSocket|curl_exec|fsockopen|file_get_contents\(["']https?|Invoke-WebRequest|Invoke-RestMethod|\biwr\b|Net\.WebClient|paramiko|\bSocket\(|ServerSocket|java\.net|TcpStream|gen_tcp|TCPServer|Socket\.tcp|\bTCP\.|ftplib|smtplib|telnetlib`)
	codeSend    = lazily(`\.post\(|\.put\(|data\s*=|method:\s*["'](?:POST|PUT)|sendall|\.send\(|connect\(|sendto|smtplib|bind\(|listen\(|\.write\(`)
	codeEval    = lazily(`\beval\b|\bexec\s*\(|\bcompile\s*\(|Function\s*\(|__import__|instance_eval|loadstring|assert\s*\(|\biex\b|Invoke-Expression|runInThisContext|marshal\.loads|pickle\.loads`)
	codeHidden  = lazily(`b64decode|decodestring|fromhex|unhexlify|codecs\.decode|atob\(|base64_decode|unpack\(|decode64|\bchr\b|fromCharCode|String\.fromCharCode|str_rot13|gzinflate|zlib\.decompress|Buffer\.from|\[::-1\]|reverse|rot_?13|FromBase64String|\.join\(|bytes\(\[|\bchr\(`)
	codeFork    = lazily(`\b(?:pcntl_)?fork\b`)
	codeLoop    = lazily(`while\s*\(?\s*(?:1|True|true|!0|:)|for\s*\(\s*;\s*;|\bwhile\s+fork\b|\bfork\s+while\b|\bloop\s*(?:\{|do)|until\s+0|\bfork\s*(?:\(\))?\s*(?:until|while)|fork\s*&&\s*fork|itertools\.count|setInterval|\bwhile\b.*\bfork|for\s+\w+\s+in\s+iter`)
	codeGrow    = lazily(`\.append\(|\.extend\(|bytearray\(|Buffer\.alloc|\.push\(|\*\s*10\*\*|\+=|<<\s|\.repeat\(|allocUnsafe|\.fill\(|\bx\s*(?:1e|\d{7,})|push\s*@|push\(`)
	codeEnviron = lazily(`os\.environ\b(?:\)|\s*$|\.items|\.copy|;)|print\(.*os\.environ\)|process\.env\b(?:\)|\s*$|;)|\bENV\.(?:to_h|each|inspect|map)|\bp\s+ENV\b|puts\s+ENV\b|%ENV\b|getenv\(\)|dict\(os\.environ|\$_ENV|printenv`)
	codeEnvName = lazily(`(?:environ(?:\.get)?|getenv|process\.env|ENVIRON|ENV|Deno\.env\.get)\s*[\[.({]+\s*["']?([A-Za-z_][A-Za-z0-9_]*)`)
	codeKill    = lazily(`os\.kill|process\.kill|Process\.kill|os\.setuid|ctypes|os\.chroot|os\._exit|posix\.kill|\bkill\s*\(?\s*["']?(?:9|KILL|-9)`)
	codeDecode  = lazily(`["']([A-Za-z0-9+/]{6,}={0,2})["']`)
	codeHex     = lazily(`["']((?:[0-9a-fA-F]{2}){3,})["']`)
)

// editor follows the commands an editor is started with.
func (m *machine) editor(c command) string {
	for i, a := range c.args {
		s := a.s
		if (len(s) > 1 && s[0] == '-' && s[1] != '-' && strings.HasSuffix(s, "c") || s == "--cmd" || s == "--eval" || s == "-eval") && i+1 < len(c.args) {
			s = c.args[i+1].s
		} else if !strings.HasPrefix(s, "+") {
			continue
		}
		m.editorCommand(c, strings.TrimLeft(s, "+: "))
	}
	if m.given() && (c.name == "ed" || c.name == "ex" || c.has("s")) {
		for l := range strings.SplitSeq(m.stdin(), "\n") {
			m.editorCommand(c, strings.TrimSpace(l))
		}
	}
	for _, a := range c.operands("c", "cmd", "u") {
		if (c.name == "ed" || c.name == "ex") && m.given() {
			m.write(m.resolve(a.s))
		}
	}
	return unknown
}

func (m *machine) editorCommand(c command, s string) {
	if _, code, ok := strings.Cut(s, "!"); ok && (strings.HasPrefix(s, "!") || strings.HasPrefix(s, "%!") || strings.HasPrefix(s, "r !") || strings.HasPrefix(s, "w !") || strings.HasPrefix(s, "sil")) {
		m.r.hit("program-runs", c.line())
		m.nested(code)
	}
	if cmd, file, ok := strings.Cut(s, " "); ok && file != "" && baseIs(strings.TrimRight(cmd, "!"), "w", "wq", "x", "write", "saveas", "sav", "up", "update") {
		m.write(m.resolve(strings.TrimSpace(file)))
	}
	if strings.Contains(s, "system(") || strings.Contains(s, "shell-command") || strings.Contains(s, "call-process") {
		m.r.hit("program-runs", c.line())
		m.codeCall(c, s)
	}
}

func (m *machine) debugger(c command) string {
	if c.exactly("-p", "--pid", "attach") {
		m.r.hit("process-memory", c.line())
	}
	for i, a := range c.args {
		if (a.s == "-ex" || a.s == "-eval-command" || a.s == "--eval-command" || a.s == "-o") && i+1 < len(c.args) {
			s := strings.TrimSpace(c.args[i+1].s)
			for _, p := range []string{"shell ", "!", "python ", "platform shell "} {
				if rest, ok := strings.CutPrefix(s, p); ok {
					m.r.hit("program-runs", c.line())
					m.nested(rest)
				}
			}
		}
		if a.s == "--args" && i+1 < len(c.args) {
			m.exec(c.args[i+1:])
		}
	}
	return unknown
}

// decoded lists the texts hidden in the literals of a program.
func decoded(code string) []string {
	var out []string
	for _, s := range codeDecode().FindAllStringSubmatch(code, 32) {
		if text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s[1], "=")); err == nil && printable(string(text)) {
			out = append(out, string(text))
		}
	}
	for _, s := range codeHex().FindAllStringSubmatch(code, 32) {
		text := hexTool(command{args: []arg{{s: "-r"}}}, s[1])
		if known(text) && printable(text) {
			out = append(out, text)
		}
	}
	return out
}

func printable(s string) bool {
	for _, c := range s {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c == '\uFFFD' {
			return false
		}
	}
	return s != ""
}
