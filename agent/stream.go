package agent

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
)

// completeMark is how a model without the completion tool says that it is
// done. It is a signal and never shown.
const completeMark = "[TASK_COMPLETE]"

// showEvery limits how often growing text is shown; firstWords is how much
// must be there before anything is, so that no fragment like "**What" flashes.
const (
	showEvery  = 32 * time.Millisecond
	firstWords = 8
	longAnswer = 32 << 10 // bytes after which growing text is shown less often
)

// stream puts one answer together from its parts.
type stream struct {
	parser *toolcall.Parser
	now    func() time.Time
	show   func(Live)
	writes func(tool string) bool // whether a tool writes files
	asked  time.Time              // when the answer was asked for

	thinking, content strings.Builder
	calls             []llm.ToolCall
	inline            int  // bytes of thinking found in the content so far
	talks             bool // words that are no thinking have come
	thinkStart        time.Time
	thinkEnd          time.Time
	thought           bool // the end of thinking was announced
	writing           bool // the file that is being written was announced
	shownAt           time.Time
	shown             bool
	done              llm.Part
}

// take adds one part.
func (s *stream) take(p llm.Part) {
	if p.Thinking != "" {
		s.thinking.WriteString(p.Thinking)
		s.thinks()
	}
	s.content.WriteString(p.Content)
	if p.Content != "" && !s.talks {
		s.watchInline()
	}
	if len(p.Calls) > 0 {
		file := ""
		if name, _ := s.parser.Canonical(p.Calls[0].Name); s.writes(name) {
			file = pathArgument(p.Calls[0].Arguments)
		}
		s.announce(file)
		s.calls = append(s.calls, p.Calls...)
	}
	if p.Done {
		s.done = p
	}
	s.display(p.Done)
}

// watchInline times thinking at the start of the content. It ends with the
// first words after it, so that long answers are not looked at again and
// again.
func (s *stream) watchInline() {
	content := s.content.String()
	inner, rest := splitThinking("", content)
	if len(inner) > s.inline {
		s.inline = len(inner)
		s.thinks()
	}
	s.talks = len(content) > longestTag && strings.TrimSpace(rest) != ""
}

// thinks notes that thinking goes on.
func (s *stream) thinks() {
	s.thinkEnd = s.now()
	if s.thinkStart.IsZero() {
		s.thinkStart = s.thinkEnd
	}
}

// announce tells at the first call that thinking is over and for how long it
// went on. Servers hold back the whole of a call, so without this the reader
// sees "thinking" while a file is being written.
func (s *stream) announce(file string) {
	if !s.thought {
		s.thought = true
		if d := s.thinkTime(); d > 0 {
			s.show(Live{Title: fmt.Sprintf("Thought for %s", roundSeconds(d))})
		}
	}
	if file != "" && !s.writing {
		s.writing = true
		s.show(Live{Title: fmt.Sprintf("Writing %s…", path.Base(file))})
	}
}

// thinkTime is how long thinking went on: from its first to its last word, or
// from the request when a server sends it in one piece. The time after, in
// which a server holds back a call, does not count.
func (s *stream) thinkTime() time.Duration {
	if s.thinkStart.IsZero() {
		return 0
	}
	if d := s.thinkEnd.Sub(s.thinkStart); d > 0 {
		return d
	}
	return s.thinkEnd.Sub(s.asked)
}

func roundSeconds(d time.Duration) string {
	return fmt.Sprintf("%ds", max(1, int(d.Round(time.Second).Seconds())))
}

// display shows what has grown, not too often and never a fragment of a
// control word or of a call.
func (s *stream) display(last bool) {
	now := s.now()
	every := showEvery * time.Duration(1+s.content.Len()/longAnswer) // each look reads the whole
	if !last && now.Sub(s.shownAt) < every {
		return
	}
	thinking, content := visible(s.thinking.String(), s.content.String(), last)
	if at := s.parser.Partial(content); at < len(content) {
		s.announcePrinted(content[at:])
		content = content[:at]
	}
	content, thinking = strings.TrimRight(stripComplete(content), " \t\r\n"), stripComplete(thinking)
	if !s.shown && wordRunes(content) < firstWords && !last {
		content = ""
	}
	if content == "" && thinking == "" {
		return
	}
	s.shown = s.shown || content != ""
	s.shownAt = now
	s.show(Live{Thinking: thinking, Content: content})
}

// announcePrinted announces a call that is being printed as text.
func (s *stream) announcePrinted(markup string) {
	file := ""
	if !s.writing && writeWord.MatchString(markup) {
		if m := printedPath.FindStringSubmatch(markup); m != nil {
			file = m[1] + m[2]
		}
	}
	s.announce(file)
}

// What shows, in a call that is still being printed, that it writes a file,
// and which.
var (
	writeWord   = regexp.MustCompile(`(?i)write_?(to_?)?file|create_?file`)
	printedPath = regexp.MustCompile(`"(?:path|file_path|filePath|file)"\s*:\s*"([^"\n]+)"|<path>([^<\n]+)</path>`)
)

func wordRunes(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			n++
		}
	}
	return n
}

// stripComplete removes the completion mark in any case, and a beginning of it at the
// end of the text.
func stripComplete(s string) string {
	s, _ = cutComplete(s)
	for n := min(len(s), len(completeMark)-1); n > 0; n-- {
		if strings.EqualFold(s[len(s)-n:], completeMark[:n]) {
			return strings.TrimRight(s[:len(s)-n], " \t\n")
		}
	}
	return s
}

// cutBroken removes a completion mark that the answer's limit cut off. A few
// letters of it may be something else and stay.
func cutBroken(s string) string {
	for n := len(completeMark) - 1; n >= len("[TASK_"); n-- {
		if len(s) >= n && strings.EqualFold(s[len(s)-n:], completeMark[:n]) {
			return strings.TrimSpace(s[:len(s)-n])
		}
	}
	return s
}

// cutComplete removes every completion mark and reports whether there was one.
func cutComplete(s string) (string, bool) {
	found := false
	for i := 0; i+len(completeMark) <= len(s); {
		j := strings.IndexByte(s[i:], '[')
		if j < 0 || i+j+len(completeMark) > len(s) {
			break
		}
		i += j
		if strings.EqualFold(s[i:i+len(completeMark)], completeMark) {
			s, found = s[:i]+s[i+len(completeMark):], true
			continue
		}
		i++
	}
	if found {
		s = strings.TrimSpace(s)
	}
	return s, found
}
