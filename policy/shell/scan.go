package shell

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/filter"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// sourceText is a program text of another language, taken apart.
type sourceText struct {
	lang string
	code string
	lits []string   // string literals
	argv [][]string // literals that follow each other in a list
}

// scanCode looks at the text of a program in another language. It is not
// followed; what its literals and calls can do counts.
func scanCode(c *command, f *finding, code string) {
	defer c.Enter(len(code))()
	lang := c.name
	f.changes = true
	if strings.Contains(code, remote) {
		f.hit("remote-code", lang)
	}
	if strings.Contains(code, unknown) || strings.Contains(code, secret) {
		f.hit("opaque-code", lang+" "+code)
	}
	s := takeApart(lang, code)
	if lang == "tclsh" || lang == "wish" || lang == "pwsh" || lang == "powershell" {
		crude(c.walk, code)
	}
	runs := codeRuns().MatchString(s.code) || strings.ContainsAny(lang[:1], "pr") && lang != "python" && codeBack().MatchString(s.code)
	if runs {
		scanRuns(c, f, s)
	}
	if (runs || codeEval().MatchString(s.code)) && codeStdin().MatchString(s.code) && c.given() && c.depth < 20 {
		text := c.waiting()
		c.nested(text)
		if codeEval().MatchString(s.code) {
			scanCode(c, f, text)
		}
	}
	if codeDelete().MatchString(s.code) {
		scanDeletes(c, f, s)
	}
	if codeWrite().MatchString(s.code) {
		for _, l := range s.lits {
			if strings.ContainsAny(l, "/.~") && !strings.ContainsAny(l, " \n") {
				c.write(l)
			}
		}
	}
	scanNetwork(c, f, s, runs)
	scanLoops(c, f, s)
	scanHidden(c, f, s, runs)
	if codeKillAll().MatchString(s.code) {
		f.hit("machine-stop", lang)
	}
	if codeKill().MatchString(s.code) {
		f.hit("signals", lang)
	}
}

var codeStdin = lazily(`(?i)\bstdin\b|<>|\bgets\b|\bARGF\b|\binput\(\)|php://stdin|readFileSync\(0|io\.read\(`)

var codeKillAll = lazily(`kill\w*\s*\(?[^;)]*(?:\(|,|\s)\s*-1\b`)

// between is what separates the elements of a list of words.
var between = lazily(`^\s*,?\s*(?:\{?\s*args\s*:\s*)?(?:\[|\{|\()?\s*$`)

func takeApart(lang, code string) sourceText {
	code = codeJoin().ReplaceAllString(code, "")
	s := sourceText{lang: lang, code: code}
	var group []string
	end := -1
	for _, at := range codeString().FindAllStringSubmatchIndex(code, 200) {
		text := ""
		for g := 2; g+1 < len(at); g += 2 {
			if at[g] >= 0 {
				text = filter.Unescape(code[at[g]:at[g+1]], false)
				if lang == "perl" || lang == "ruby" || lang == "php" {
					text = strings.NewReplacer(`\$`, "$", `\@`, "@", `\#`, "#").Replace(text)
				}
			}
		}
		if end < 0 || !between().MatchString(code[end:at[0]]) || !strings.ContainsAny(code[end:at[0]], ",[") && !in("spaced-lists", lang) {
			if len(group) > 1 {
				s.argv = append(s.argv, group)
			}
			group = nil
		}
		group = append(group, text)
		s.lits = append(s.lits, text)
		end = at[1]
	}
	if len(group) > 1 {
		s.argv = append(s.argv, group)
	}
	return s
}

var opaqueCall = lazily(`(?:os\.system|system|popen|Popen|check_output|check_call|execSync|shell_exec|passthru|spawnSync|os\.execute)\s*\(\s*(?:[A-Za-z_$@][\w.\[\]()$]*)\s*[,)]`)

func scanRuns(c *command, f *finding, s sourceText) {
	for _, words := range s.argv {
		c.exec(argv.Of(words...))
	}
	for _, l := range s.lits {
		if strings.TrimSpace(l) != "" && !strings.HasPrefix(l, "http") {
			quietly(c, l)
		}
	}
	if len(s.lits) == 0 || opaqueCall().MatchString(s.code) {
		f.hit("program-runs", s.lang+" "+s.code)
	}
}

// quietly follows a literal that may be a command: whether it parses says
// nothing, because it may be any text.
func quietly(c *command, text string) {
	first := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n;|&(", c) })
	if len(first) == 0 {
		return
	}
	c.nested(text)
}

func scanDeletes(c *command, f *finding, s sourceText) {
	found := false
	for _, l := range s.lits {
		if l == "" || strings.ContainsAny(l, " \n(") && !strings.HasPrefix(l, "/") {
			continue
		}
		found = true
		if strings.ContainsAny(l, "/~.*") {
			c.remove(argv.Word{S: l, Pat: globIn(l)}, true)
		}
	}
	if s.lang == "pwsh" || s.lang == "powershell" {
		for w := range strings.FieldsSeq(s.code) {
			if strings.ContainsAny(w, "/\\~") {
				c.remove(argv.Word{S: w, Pat: globIn(w)}, true)
			}
		}
	}
	if !found {
		f.hit("delete-unknown", s.lang+" "+s.code)
	}
}

func scanSecrets(c *command, f *finding, s sourceText) bool {
	found := false
	for _, l := range s.lits {
		for _, p := range pathsIn(l) {
			if strings.Contains(c.readSecret(c.resolve(p)), secret) {
				found = true
			}
		}
	}
	for _, e := range codeEnvName().FindAllStringSubmatch(s.code, 32) {
		if zone.SecretName(e[1]) {
			f.hit("secret-shown", e[1])
			found = true
		}
	}
	if codeEnviron().MatchString(s.code) {
		f.hit("environment-dump", s.lang)
		found = true
	}
	return found
}

func scanNetwork(c *command, f *finding, s sourceText, runs bool) {
	secrets := scanSecrets(c, f, s)
	if !codeNet().MatchString(s.code) {
		return
	}
	f.network = true
	sends := codeSend().MatchString(s.code)
	switch {
	case secrets:
		f.hit("secret-sent", s.lang)
	case codeEval().MatchString(s.code):
		f.hit("remote-code", s.lang)
	case runs && (strings.Contains(s.code, "ocket") || strings.Contains(s.code, "sockopen") || strings.Contains(s.code, "connect") || strings.Contains(s.code, "net\"") || strings.Contains(s.code, "net'")):
		f.hit("reverse-shell", s.lang)
	case runs:
		f.hit("program-runs", s.lang+" "+s.code)
	case sends:
		f.hit("network-send", s.lang)
	case len(s.lits) > 0 && strings.Contains(s.code, "localhost"):
	default:
		f.hit("download", s.lang)
	}
}

func scanLoops(c *command, f *finding, s sourceText) {
	loops := codeLoop().MatchString(s.code)
	if codeFork().MatchString(s.code) {
		if loops || strings.Count(s.code, "fork") > 2 {
			f.hit("fork-bomb", s.lang)
		} else {
			f.hit("forks", s.lang)
		}
		return
	}
	if loops && codeRuns().MatchString(s.code) && (strings.Contains(s.code, "argv") || strings.Contains(s.code, "spawn") || strings.Contains(s.code, "Popen")) {
		f.hit("fork-bomb", s.lang)
	}
	if loops && codeRuns().MatchString(s.code) {
		for _, l := range s.lits {
			if strings.HasSuffix(strings.TrimSpace(l), "&") {
				f.hit("fork-bomb", s.lang)
			}
		}
	}
	if loops && codeGrow().MatchString(s.code) {
		f.hit("exhaust", s.lang)
	}
}

var evalOpaque = lazily(`(?:^|[^.\w])(?:exec|eval)\s*\(\s*[A-Za-z_$]|\beval\s*[<$@]`)

// evalFile recognizes an eval of what a file or a program holds.
var evalFile = lazily("(?i)\\beval\\b[^\\n]*(?:File\\.|IO\\.|readFile|slurp|`|<|get_contents|\\bopen\\b|STDIN|ARGV|ENV)")

var chrCall = lazily(`(?:\bchr|fromCharCode)\s*\(\s*([\d,\s]+)\)`)

// scanHidden looks at texts that the program decodes before it runs thec.
func scanHidden(c *command, f *finding, s sourceText, runs bool) {
	evals := codeEval().MatchString(s.code)
	if !runs && !evals {
		return
	}
	texts := decoded(s.code)
	for _, l := range s.lits {
		texts = append(texts, filter.Reverse(l), rotateLetters(l))
		if evals {
			texts = append(texts, l)
		}
	}
	var b strings.Builder
	for _, call := range chrCall().FindAllStringSubmatch(s.code, 400) {
		for n := range strings.SplitSeq(call[1], ",") {
			if v, err := strconv.Atoi(strings.TrimSpace(n)); err == nil && v < 0x110000 {
				b.WriteRune(rune(v))
			}
		}
	}
	texts = append(texts, b.String())
	for _, t := range texts {
		suspect(c, f, t, evals)
	}
	if evalOpaque().MatchString(s.code) {
		f.hit("opaque-code", s.lang+" "+s.code)
	}
	if evals && (codeHidden().MatchString(s.code) || len(s.lits) == 0 || evalFile().MatchString(s.code)) {
		f.hit("opaque-code", s.lang+" "+s.code)
	}
}

// suspect follows a decoded text when it looks like a command or like code.
func suspect(c *command, f *finding, text string, evals bool) {
	words := strings.Fields(text)
	if len(words) == 0 || !printable(text) {
		return
	}
	if dangerous(programName(words[0])) {
		c.nested(text)
	}
	if evals && strings.ContainsAny(text, "(`") && c.depth < 20 {
		scanCode(c, f, text)
	}
}

func rotateLetters(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return 'a' + (c-'a'+13)%26
		case c >= 'A' && c <= 'Z':
			return 'A' + (c-'A'+13)%26
		}
		return c
	}, s)
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

// decoded lists the texts hidden in the literals of a prograc.
func decoded(code string) []string {
	var out []string
	for _, s := range codeDecode().FindAllStringSubmatch(code, 32) {
		if text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s[1], "=")); err == nil && printable(string(text)) {
			out = append(out, string(text))
		}
	}
	for _, s := range codeHex().FindAllStringSubmatch(code, 32) {
		if text, ok := filter.Run("xxd", argv.Of("-r"), s[1]); ok && printable(text) {
			out = append(out, text)
		}
	}
	return out
}
