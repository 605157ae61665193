// Package speech makes an answer out of what a model streams: what of it is
// thinking, which words are for the reader, which calls it makes, and whether
// it says that it is done. While the answer grows, it shows what can be shown.
//
//	stream.go    an answer that grows
//	answer.go    a whole answer, taken apart
//	files.go     an answer without calls: files in fences
//	thinking.go  what of it is thinking
//	loop.go      an answer that repeats itself
//	outline.go   the sentences of an answer, and its files in fences
//	habits.go    calls and mistakes that a model repeats
//	progress.go  how long it has had nothing new
//	lost.go      what of the answers did not arrive
//	context.go   prompts that a server cuts
//	mark.go      how a model says that it is done
package speech

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/prose"
	"github.com/handrail-bot/handrail/agent/llm/toolcall"
	"github.com/handrail-bot/handrail/policy/pattern"
	"github.com/handrail-bot/handrail/policy/untrusted/marks"
)

// showEvery limits how often growing text is shown; firstWords is how much
// must be there before anything is, so that no fragment like "**What" flashes.
const (
	showEvery  = 32 * time.Millisecond
	firstWords = 8
	longAnswer = 32 << 10 // bytes after which growing text is shown less often
)

// Config is what a [Stream] needs to know.
type Config struct {
	Parser *toolcall.Parser
	// Writes returns the file that a call writes, "" when it writes none.
	Writes func(tool string, arguments json.RawMessage) string
	// Seen reports whether the model was shown a text: a file may repeat what it has
	// repeated before. Nil for nothing.
	Seen func(text string) bool
	// Means returns the tool that is meant by a name that is none, "" for no other. Nil
	// for none.
	Means func(name string, arguments json.RawMessage) string
	Show  func(Shown)
	Now   func() time.Time

	Form    llm.Form   // in which the model was asked; "" is [llm.FormNative]
	View    prose.View // files in front of the model
	Offered []string   // tools that the model was told of
	// Prose has edits in fences count where there is no call: nothing was changed so far,
	// and the mode may write.
	Prose bool
}

// Shown is what there is to see of an answer that grows: the whole text so
// far, without thinking in the words and without markup of calls, and a Title
// for what goes on, such as "Thought for 8s" or "Writing net.py".
type Shown struct {
	Thinking, Content string
	Title             string
	Speed             int // tokens a second, estimated; 0 while that is not known
}

// Stream puts one answer together from its parts.
type Stream struct {
	Config
	asked time.Time // when the answer was asked for
	begun time.Time // when its first part came

	thinking, content strings.Builder
	calls             []llm.ToolCall
	inline            int  // bytes of thinking found in the content so far
	talks             bool // words that are no thinking have come
	thinkStart        time.Time
	thinkEnd          time.Time
	thought           bool   // the end of thinking was announced
	writing           string // title of the file that is being written, "" while none is
	shownAt           time.Time
	shown             bool
	done              llm.Part
	looked            int  // bytes when it was last looked for circles
	circles           bool // it repeats itself
	late              bool // it took too long and was stopped

	inThinking, inContent circles
}

// New returns the stream of an answer that is asked for now.
func New(cfg Config) *Stream { return &Stream{Config: cfg, asked: cfg.Now()} }

// Whole reports whether the answer came to its end.
func (s *Stream) Whole() bool { return s.done.Done }

// Stop ends an answer that has taken longer than it may. What came of it counts.
func (s *Stream) Stop() { s.late = true }

// Take adds one part.
func (s *Stream) Take(p llm.Part) {
	if s.begun.IsZero() {
		s.begun = s.Now()
	}
	if p.Thinking != "" {
		s.thinking.WriteString(p.Thinking)
		s.thinks()
	}
	s.content.WriteString(p.Content)
	if p.Content != "" && !s.talks {
		s.watchInline()
	}
	if len(p.Calls) > 0 {
		name, _ := s.Parser.Canonical(p.Calls[0].Name)
		s.announce(s.Writes(name, p.Calls[0].Arguments))
		s.calls = append(s.calls, p.Calls...)
	}
	if p.Done {
		s.done = p
	}
	s.look()
	s.display(p.Done)
}

// watchInline times thinking at the start of the content. It ends with the
// first words after it, so that long answers are not looked at again and
// again.
func (s *Stream) watchInline() {
	content := s.content.String()
	inner, rest := splitThinking("", content)
	if len(inner) > s.inline {
		s.inline = len(inner)
		s.thinks()
	}
	s.talks = len(content) > longestTag && strings.TrimSpace(rest) != ""
}

// thinks notes that thinking goes on.
func (s *Stream) thinks() {
	s.thinkEnd = s.Now()
	if s.thinkStart.IsZero() {
		s.thinkStart = s.thinkEnd
	}
}

// announce tells at the first call that thinking is over and for how long it
// went on. Servers hold back the whole of a call, so without this the reader
// sees "thinking" while a file is being written.
func (s *Stream) announce(file string) {
	if !s.thought {
		s.thought = true
		if d := s.thinkTime(); d > 0 {
			s.Show(Shown{Title: fmt.Sprintf("Thought for %s", roundSeconds(d))})
		}
	}
	if file == "" {
		return
	}
	if title := "Writing " + path.Base(marks.Mend(file)); title != s.writing {
		s.writing = title
		s.Show(Shown{Title: title, Speed: s.speed()})
	}
}

// bytesPerToken is what common tokenizers make of source code and English.
const bytesPerToken = 4

// leastSpeed is how long an answer must go on for its speed to be known.
const leastSpeed = 2 * time.Second

// speed returns how many tokens a second come.
func (s *Stream) speed() int {
	took := s.Now().Sub(s.begun)
	if took < leastSpeed {
		return 0
	}
	return max(1, int(float64(s.content.Len()+s.thinking.Len())/bytesPerToken/took.Seconds()))
}

// thinkTime is how long thinking went on: from its first to its last word, or
// from the request when a server sends it in one piece. The time after, in
// which a server holds back a call, does not count.
func (s *Stream) thinkTime() time.Duration {
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
func (s *Stream) display(last bool) {
	now := s.Now()
	every := showEvery * time.Duration(1+s.content.Len()/longAnswer) // each look reads the whole
	if !last && now.Sub(s.shownAt) < every {
		return
	}
	thinking, content := visible(s.thinking.String(), s.content.String(), last)
	title := ""
	if at := s.Parser.Partial(content); at < len(content) {
		s.announcePrinted(content[at:])
		content, title = content[:at], s.writing
	} else if s.Form == llm.FormFiles && s.inContent.ticks != "" && s.inContent.open.path != "" {
		s.announce(s.inContent.open.path)
		title = s.writing
	}
	content, thinking = strings.TrimRight(stripComplete(content), " \t\r\n"), stripComplete(thinking)
	if !s.shown && wordRunes(content) < firstWords && !last {
		content = ""
	}
	if content == "" && thinking == "" && title == "" {
		return
	}
	s.shown = s.shown || content != ""
	s.shownAt = now
	s.Show(Shown{Thinking: marks.Mend(thinking), Content: marks.Mend(content), Title: title, Speed: s.speed()})
}

// announcePrinted announces a call that is being printed as text.
func (s *Stream) announcePrinted(markup string) {
	file := ""
	if s.writing == "" && writeWord().MatchString(markup) {
		if m := printedPath().FindStringSubmatch(markup); m != nil {
			file = m[1] + m[2]
		}
	}
	s.announce(file)
}

// What shows, in a call that is still being printed, that it writes a file,
// and which.
var (
	writeWord   = pattern.Lazy(`(?i)write_?(to_?)?file|create_?file`)
	printedPath = pattern.Lazy(`"(?:path|file_path|filePath|file)"\s*:\s*"([^"\n]+)"|<path>([^<\n]+)</path>`)
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
