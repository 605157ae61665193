package shell

import (
	"strconv"
	"strings"
)

// source is a program text of another language, taken apart.
type source struct {
	lang string
	code string
	lits []string   // string literals
	argv [][]string // literals that follow each other in a list
}

// scanCode looks at the text of a program in another language. It is not
// followed; what its literals and calls can do counts.
func (m *machine) scanCode(lang, code string) {
	m.enter()
	defer m.leave()
	m.r.step(len(code))
	m.r.changes = true
	if strings.Contains(code, remote) {
		m.r.hit("remote-code", lang)
	}
	if strings.Contains(code, unknown) || strings.Contains(code, secret) {
		m.r.hit("opaque-code", lang+" "+code)
	}
	s := takeApart(lang, code)
	if lang == "tclsh" || lang == "wish" || lang == "pwsh" || lang == "powershell" {
		m.crude(code)
	}
	runs := codeRuns().MatchString(s.code) || strings.ContainsAny(lang[:1], "pr") && lang != "python" && codeBack().MatchString(s.code)
	if runs {
		m.scanRuns(s)
	}
	if (runs || codeEval().MatchString(s.code)) && codeStdin().MatchString(s.code) && m.given() && m.depth < 20 {
		text := m.givenText()
		m.nested(text)
		if codeEval().MatchString(s.code) {
			m.scanCode(lang, text)
		}
	}
	if codeDelete().MatchString(s.code) {
		m.scanDeletes(s)
	}
	if codeWrite().MatchString(s.code) {
		for _, l := range s.lits {
			if strings.ContainsAny(l, "/.~") && !strings.ContainsAny(l, " \n") {
				m.write(m.resolve(l))
			}
		}
	}
	secrets := m.scanSecrets(s)
	m.scanNetwork(s, runs, secrets)
	m.scanLoops(s)
	m.scanHidden(s, runs)
	if codeKillAll().MatchString(s.code) {
		m.r.hit("machine-stop", lang)
	}
	if codeKill().MatchString(s.code) {
		m.r.hit("signals", lang)
	}
}

var codeStdin = lazily(`(?i)\bstdin\b|<>|\bgets\b|\bARGF\b|\binput\(\)|php://stdin|readFileSync\(0|io\.read\(`)

var codeKillAll = lazily(`kill\w*\s*\(?[^;)]*(?:\(|,|\s)\s*-1\b`)

// between is what separates the elements of a list of words.
var between = lazily(`^\s*,?\s*(?:\{?\s*args\s*:\s*)?(?:\[|\{|\()?\s*$`)

// spaced are the languages whose lists have no commas.
const spaced = "clojure clj bb racket sbcl guile clisp ecl janet fennel hy raku"

func takeApart(lang, code string) source {
	code = codeJoin().ReplaceAllString(code, "")
	s := source{lang: lang, code: code}
	var group []string
	end := -1
	for _, at := range codeString().FindAllStringSubmatchIndex(code, 200) {
		text := ""
		for g := 2; g+1 < len(at); g += 2 {
			if at[g] >= 0 {
				text = decodeEscapes(code[at[g]:at[g+1]], false)
				if lang == "perl" || lang == "ruby" || lang == "php" {
					text = strings.NewReplacer(`\$`, "$", `\@`, "@", `\#`, "#").Replace(text)
				}
			}
		}
		if end < 0 || !between().MatchString(code[end:at[0]]) || !strings.ContainsAny(code[end:at[0]], ",[") && !hasWord(spaced, lang) {
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

func (m *machine) scanRuns(s source) {
	for _, words := range s.argv {
		m.exec(literals(words))
	}
	for _, l := range s.lits {
		if strings.TrimSpace(l) != "" && !strings.HasPrefix(l, "http") {
			m.quietly(l)
		}
	}
	if len(s.lits) == 0 || opaqueCall().MatchString(s.code) {
		m.r.hit("program-runs", s.lang+" "+s.code)
	}
}

// quietly follows a literal that may be a command: whether it parses says
// nothing, because it may be any text.
func (m *machine) quietly(text string) {
	first := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n;|&(", c) })
	if len(first) == 0 {
		return
	}
	m.nested(text)
}

func (m *machine) scanDeletes(s source) {
	found := false
	for _, l := range s.lits {
		if l == "" || strings.ContainsAny(l, " \n(") && !strings.HasPrefix(l, "/") {
			continue
		}
		found = true
		if strings.ContainsAny(l, "/~.*") {
			m.deletePath(arg{s: l, pat: globIn(l)}, true)
		}
	}
	if s.lang == "pwsh" || s.lang == "powershell" {
		for w := range strings.FieldsSeq(s.code) {
			if strings.ContainsAny(w, "/\\~") {
				m.deletePath(arg{s: w, pat: globIn(w)}, true)
			}
		}
	}
	if !found {
		m.r.hit("delete-unknown", s.lang+" "+s.code)
	}
}

func globIn(s string) string {
	if strings.ContainsAny(s, "*?[") {
		return s
	}
	return ""
}

func (m *machine) scanSecrets(s source) bool {
	found := false
	for _, l := range s.lits {
		for _, p := range pathsIn(l) {
			if strings.Contains(m.readSecret(m.resolve(p)), secret) {
				found = true
			}
		}
	}
	for _, e := range codeEnvName().FindAllStringSubmatch(s.code, 32) {
		if secretName(e[1]) {
			m.r.hit("secret-shown", e[1])
			found = true
		}
	}
	if codeEnviron().MatchString(s.code) {
		m.r.hit("environment-dump", s.lang)
		found = true
	}
	return found
}

func (m *machine) scanNetwork(s source, runs, secrets bool) {
	if !codeNet().MatchString(s.code) {
		return
	}
	m.r.network = true
	sends := codeSend().MatchString(s.code)
	switch {
	case secrets:
		m.r.hit("secret-sent", s.lang)
	case codeEval().MatchString(s.code):
		m.r.hit("remote-code", s.lang)
	case runs && (strings.Contains(s.code, "ocket") || strings.Contains(s.code, "sockopen") || strings.Contains(s.code, "connect") || strings.Contains(s.code, "net\"") || strings.Contains(s.code, "net'")):
		m.r.hit("reverse-shell", s.lang)
	case runs:
		m.r.hit("program-runs", s.lang+" "+s.code)
	case sends:
		m.r.hit("network-send", s.lang)
	case len(s.lits) > 0 && strings.Contains(s.code, "localhost"):
	default:
		m.r.hit("download", s.lang)
	}
}

func (m *machine) scanLoops(s source) {
	loops := codeLoop().MatchString(s.code)
	if codeFork().MatchString(s.code) {
		if loops || strings.Count(s.code, "fork") > 2 {
			m.r.hit("fork-bomb", s.lang)
		} else {
			m.r.hit("forks", s.lang)
		}
		return
	}
	if loops && codeRuns().MatchString(s.code) && (strings.Contains(s.code, "argv") || strings.Contains(s.code, "spawn") || strings.Contains(s.code, "Popen")) {
		m.r.hit("fork-bomb", s.lang)
	}
	if loops && codeRuns().MatchString(s.code) {
		for _, l := range s.lits {
			if strings.HasSuffix(strings.TrimSpace(l), "&") {
				m.r.hit("fork-bomb", s.lang)
			}
		}
	}
	if loops && codeGrow().MatchString(s.code) {
		m.r.hit("exhaust", s.lang)
	}
}

var evalOpaque = lazily(`(?:^|[^.\w])(?:exec|eval)\s*\(\s*[A-Za-z_$]|\beval\s*[<$@]`)

// evalFile recognizes an eval of what a file or a program holds.
var evalFile = lazily("(?i)\\beval\\b[^\\n]*(?:File\\.|IO\\.|readFile|slurp|`|<|get_contents|\\bopen\\b|STDIN|ARGV|ENV)")

var chrCall = lazily(`(?:\bchr|fromCharCode)\s*\(\s*([\d,\s]+)\)`)

// scanHidden looks at texts that the program decodes before it runs them.
func (m *machine) scanHidden(s source, runs bool) {
	evals := codeEval().MatchString(s.code)
	if !runs && !evals {
		return
	}
	texts := decoded(s.code)
	for _, l := range s.lits {
		r := []rune(l)
		reverse(r)
		texts = append(texts, string(r), rotateLetters(l))
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
		m.suspect(s.lang, t, evals)
	}
	if evalOpaque().MatchString(s.code) {
		m.r.hit("opaque-code", s.lang+" "+s.code)
	}
	if evals && (codeHidden().MatchString(s.code) || len(s.lits) == 0 || evalFile().MatchString(s.code)) {
		m.r.hit("opaque-code", s.lang+" "+s.code)
	}
}

// suspect follows a decoded text when it looks like a command or like code.
func (m *machine) suspect(lang, text string, evals bool) {
	words := strings.Fields(text)
	if len(words) == 0 || !printable(text) {
		return
	}
	if dangerousName(programName(words[0])) {
		m.nested(text)
	}
	if evals && strings.ContainsAny(text, "(`") && m.depth < 20 {
		m.scanCode(lang, text)
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
