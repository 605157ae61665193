package shell

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// translate computes tr.
func translate(c command, in string) string {
	ops := c.operands()
	if c.has("c", "C", "complement") || len(ops) == 0 {
		return unknown
	}
	from := charSet(ops[0].s)
	if c.has("d", "delete") {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(from, r) {
				return -1
			}
			return r
		}, in)
	}
	if len(ops) < 2 {
		return in
	}
	src, dst := []rune(from), []rune(charSet(ops[1].s))
	if len(dst) == 0 {
		return unknown
	}
	table := map[rune]rune{}
	for i, r := range src {
		table[r] = dst[min(i, len(dst)-1)]
	}
	return strings.Map(func(r rune) rune {
		if to, ok := table[r]; ok {
			return to
		}
		return r
	}, in)
}

// charSet expands the ranges and classes of a tr argument.
func charSet(s string) string {
	const lower, upper, digit = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	s = strings.NewReplacer("[:lower:]", lower, "[:upper:]", upper, "[:digit:]", digit, "[:alpha:]", upper+lower,
		"[:alnum:]", digit+upper+lower, "[:space:]", " \t\n\v\f\r", "[:blank:]", " \t").Replace(s)
	r := []rune(decodeEscapes(s, false))
	var b strings.Builder
	for i := 0; i < len(r); i++ {
		if i+2 < len(r) && r[i+1] == '-' && r[i+2] >= r[i] && r[i+2]-r[i] < 256 {
			for c := r[i]; c <= r[i+2]; c++ {
				b.WriteRune(c)
			}
			i += 2
			continue
		}
		b.WriteRune(r[i])
	}
	return b.String()
}

// sedScript is the program text of a sed command.
func sedScript(c command) string {
	if v, ok := c.value("e", "expression"); ok {
		return v
	}
	if ops := c.operands("f", "l"); len(ops) > 0 {
		return ops[0].s
	}
	return ""
}

// sedTool computes a single substitution.
func sedTool(c command, in string) string {
	script := strings.TrimSpace(sedScript(c))
	parts, flags, ok := substitution(script)
	if !ok {
		return unknown
	}
	expr := parts[0]
	if !c.has("E", "r", "regexp-extended") {
		expr = strings.NewReplacer(`\(`, "(", `\)`, ")", "(", `\(`, ")", `\)`, `\+`, "+", "+", `\+`, `\|`, "|", "|", `\|`, "{", `\{`, `\{`, "{", "}", `\}`, `\}`, "}").Replace(expr)
	}
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return unknown
	}
	with := regexp.MustCompile(`\\(\d)`).ReplaceAllString(strings.ReplaceAll(parts[1], "$", "$$"), "$${$1}")
	with = regexp.MustCompile(`\\?&`).ReplaceAllStringFunc(with, func(s string) string {
		if s == "&" {
			return "${0}"
		}
		return "&"
	})
	with = strings.NewReplacer(`\n`, "\n", `\/`, "/").Replace(with)
	if strings.Contains(flags, "g") {
		return re.ReplaceAllString(in, with)
	}
	return eachLine(in, func(l string) string {
		at := re.FindStringSubmatchIndex(l)
		if at == nil {
			return l
		}
		return l[:at[0]] + string(re.ExpandString(nil, with, l, at)) + l[at[1]:]
	})
}

// substitution takes s/a/b/flags apart.
func substitution(s string) (parts [2]string, flags string, ok bool) {
	if len(s) < 4 || s[0] != 's' {
		return parts, "", false
	}
	delim, at := s[1], 2
	for i := range parts {
		start := at
		for at < len(s) && s[at] != delim {
			if s[at] == '\\' {
				at++
			}
			at++
		}
		if at >= len(s) {
			return parts, "", false
		}
		parts[i] = s[start:at]
		at++
	}
	return parts, s[at:], true
}

// sedProgram looks for sed commands that run programs or write files.
func (m *machine) sedProgram(c command) {
	if len(c.line()) > 8192 { // each part of it is compared with all of it
		m.r.exhaust()
	}
	if c.has("i", "in-place") {
		ops := c.operands("f", "l", "e", "expression")
		if !c.has("e", "expression", "f", "file") && len(ops) > 0 {
			ops = ops[1:]
		}
		for _, a := range ops {
			for _, p := range m.places(a) {
				m.write(p)
			}
		}
	}
	scripts := []string{sedScript(c), m.programFile(c)}
	for i, a := range c.args {
		if (a.s == "-e" || a.s == "--expression") && i+1 < len(c.args) {
			scripts = append(scripts, c.args[i+1].s)
		}
	}
	for _, s := range scripts {
		for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ';' || r == '\n' || r == '{' || r == '}' }) {
			m.sedCommand(c, strings.TrimSpace(part))
		}
	}
}

var sedAddress = lazily(`^(?:(?:\d+|\$|/(?:\\.|[^/\\])*/|\d+~\d+)\s*[,!]?\s*)+`)

func (m *machine) sedCommand(c command, s string) {
	s = sedAddress().ReplaceAllString(s, "")
	s = strings.TrimLeft(s, "! ")
	if s == "" {
		return
	}
	parts, flags, ok := substitution(s)
	switch {
	case ok && strings.Contains(strings.SplitN(flags, "w", 2)[0], "e"):
		m.r.hit("program-runs", c.line())
		m.nested(parts[1])
	case ok && strings.Contains(flags, "w"):
		_, file, _ := strings.Cut(flags, "w")
		m.write(m.resolve(strings.TrimSpace(file)))
	case ok:
	case s[0] == 'e' && (len(s) == 1 || s[1] == ' '):
		m.r.hit("program-runs", c.line())
		m.nested(strings.TrimSpace(s[1:]))
	case (s[0] == 'w' || s[0] == 'W') && len(s) > 1 && s[1] == ' ':
		m.write(m.resolve(strings.TrimSpace(s[1:])))
	}
}

var (
	awkString  = lazily(`"((?:\\.|[^"\\])*)"`)
	awkWrite   = lazily(`print[^;}|]*>>?\s*"([^"]+)"`)
	awkPipe    = lazily(`\|&?\s*"((?:\\.|[^"\\])*)"|"((?:\\.|[^"\\])*)"\s*\|&?\s*getline`)
	awkShell   = lazily(`print\s*\(?\s*"((?:\\.|[^"\\])*)"\s*\)?\s*\|&?\s*"[^"]*\b(?:sh|bash|zsh|dash|ksh)\b`)
	awkToShell = lazily(`\|&?\s*"[^"]*\b(?:sh|bash|zsh|dash|ksh)\b`)
	awkSystem  = lazily(`system\s*\(([^)]*)\)?`)
	awkPrint   = lazily(`^(?:BEGIN\s*)?\{\s*print\s+("[^"]*"|\$\d+(?:\s*,\s*\$\d+)*)\s*;?\s*\}$`)
)

func awkText(c command) string {
	ops := c.operands("F", "v", "f", "i")
	if len(ops) == 0 || c.has("f") {
		return ""
	}
	return ops[0].s
}

// programFile is the program text of awk or sed that -f names, as far as the
// line itself holds it.
func (m *machine) programFile(c command) string {
	file, ok := c.value("f", "file")
	switch {
	case !ok:
		return ""
	case file == "-" || file == "/dev/stdin":
		return m.givenText()
	}
	if text := m.readFile(file); text != unknown {
		return text
	}
	return ""
}

// awkTool computes a program that prints one field or one string.
func awkTool(c command, in string) string {
	p := awkPrint().FindStringSubmatch(strings.TrimSpace(awkText(c)))
	if p == nil {
		return unknown
	}
	if p[1][0] == '"' {
		return decodeEscapes(strings.Trim(p[1], `"`), false) + "\n"
	}
	delim, split := c.value("F")
	return eachLine(in, func(l string) string {
		f := strings.Fields(l)
		if split {
			f = strings.Split(l, delim)
		}
		var out []string
		for one := range strings.SplitSeq(p[1], ",") {
			switch n, _ := strconv.Atoi(strings.TrimSpace(one)[1:]); {
			case n == 0:
				out = append(out, l)
			case n <= len(f):
				out = append(out, f[n-1])
			}
		}
		return strings.Join(out, " ")
	})
}

// awkProgram looks for awk code that runs programs or writes files.
func (m *machine) awkProgram(c command) {
	text := awkText(c) + m.programFile(c)
	for _, a := range c.args {
		if strings.Contains(a.s, "system") && strings.Contains(a.s, "(") && a.s != text {
			text += "\n" + a.s
		}
	}
	if runs := awkSystem().MatchString(text); runs || awkToShell().MatchString(text) {
		if strings.Contains(m.givenText(), remote) {
			m.r.hit("remote-code", c.line())
		}
		if v, ok := c.value("v"); ok && runs {
			_, v, _ = strings.Cut(v, "=")
			m.suspect("awk", v, false)
		}
	}
	for _, s := range awkSystem().FindAllStringSubmatch(text, 8) {
		m.r.hit("program-runs", c.line())
		m.codeCall(c, s[1])
		if strings.Trim(awkString().ReplaceAllString(s[1], ""), " ") != "" {
			for _, l := range awkString().FindAllStringSubmatch(text, 16) {
				m.suspect("awk", decodeEscapes(l[1], false), false)
			}
		}
	}
	for _, e := range codeEnvName().FindAllStringSubmatch(text, 8) {
		if secretName(e[1]) {
			m.r.hit("secret-shown", e[1])
		}
	}
	if awkToShell().MatchString(text) && !awkShell().MatchString(text) {
		m.r.hit("program-runs", c.line())
	}
	for _, s := range awkShell().FindAllStringSubmatch(text, 8) {
		m.nested(decodeEscapes(s[1], false))
	}
	for _, s := range awkPipe().FindAllStringSubmatch(text, 8) {
		m.nested(decodeEscapes(s[1]+s[2], false))
	}
	if strings.Contains(text, "/inet") {
		m.r.network = true
		if strings.Contains(text, "getline") {
			m.r.hit("reverse-shell", c.line())
		} else {
			m.r.hit("socket", c.line())
		}
	}
	if text != "" && strings.Trim(text, allMarks) == "" {
		m.r.hit("opaque-code", c.line())
	}
	for _, s := range awkWrite().FindAllStringSubmatch(text, 8) {
		m.write(m.resolve(s[1]))
	}
	if strings.Contains(text, "ENVIRON") && strings.Contains(text, " in ENVIRON") {
		m.r.hit("environment-dump", "awk")
	}
}

// codeCall follows the argument of a system call in a program text.
func (m *machine) codeCall(c command, arg string) {
	lits := awkString().FindAllStringSubmatch(arg, 16)
	left := strings.TrimSpace(awkString().ReplaceAllString(arg, ""))
	var b strings.Builder
	for _, l := range lits {
		b.WriteString(decodeEscapes(l[1], false))
	}
	if left != "" || len(lits) == 0 {
		m.r.hit("program-runs", c.line())
	}
	m.nested(b.String())
}

func (m *machine) pathTool(c command) string {
	ops := c.operands("s", "relative-to")
	if len(ops) == 0 {
		return unknown
	}
	if c.name == "basename" && len(ops) == 2 && known(ops[0].s) {
		return strings.TrimSuffix(path.Base(ops[0].s), ops[1].s) + "\n"
	}
	var b strings.Builder
	for _, a := range ops {
		switch {
		case !known(a.s):
			b.WriteString(opaque(a.s))
		case c.name == "basename":
			b.WriteString(path.Base(a.s))
		case c.name == "dirname":
			b.WriteString(path.Dir(a.s))
		default:
			b.WriteString(m.resolve(a.s))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (m *machine) generator(c command) string {
	switch c.name {
	case "mktemp":
		return "/tmp/tmp." + unknown + "\n"
	case "date":
		if c.has("s", "set") {
			m.r.hit("machine-settings", c.line())
		}
		return unknown
	case "yes":
		if m.filed {
			m.r.hit("exhaust", c.line())
		}
		words := strings.Join(texts(c.args), " ")
		if words == "" {
			words = "y"
		}
		return words + "\n" + words + "\n"
	}
	return m.sequence(c)
}

// sequence computes seq, up to a limit.
func (m *machine) sequence(c command) string {
	ops := texts(c.operands("s", "f"))
	lo, step := 1, 1
	nums := make([]int, len(ops))
	for i, s := range ops {
		n, err := strconv.Atoi(s)
		if err != nil {
			return unknown
		}
		nums[i] = n
	}
	switch len(nums) {
	case 2:
		lo = nums[0]
	case 3:
		lo, step = nums[0], nums[1]
	case 0:
		return unknown
	}
	var b strings.Builder
	hi := nums[len(nums)-1]
	for i, n := lo, 0; n < maxLoop && step != 0 && (step > 0 && i <= hi || step < 0 && i >= hi); i, n = i+step, n+1 {
		b.WriteString(strconv.Itoa(i) + "\n")
	}
	return b.String()
}

// grepHunt is for searches that look for credentials outside the workspace.
func (m *machine) grepHunt(c command) {
	ops := c.operands("e", "f", "A", "B", "C", "m", "t", "g")
	term, _ := c.value("e", "regexp")
	if term == "" && len(ops) > 0 {
		term, ops = ops[0].s, ops[1:]
	}
	recursive := c.has("r", "R", "recursive") || c.name == "rg"
	for _, a := range ops {
		switch placeOf(m.resolve(a.s)) {
		case placeVital, placeSystem, placeHome, placeStartup, placeOutside, placeAbove:
			if recursive && secretHunt(term) || recursive && m.resolve(a.s) == "~" {
				m.r.hit("secret-hunt", c.line())
			}
		}
	}
}
