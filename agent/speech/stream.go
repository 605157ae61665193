// Package speech turns a model's stream into an answer: its thinking, its text for
// the reader, its calls and its completion signal. It also displays the answer while
// it grows.
//
//	stream.go    an answer that grows
//	answer.go    parsing a whole answer
//	files.go     an answer without calls: files in fences
//	meant.go     calls of other programs' tools
//	thinking.go  separating thinking from text
//	closing.go   messages without a call: claims and announcements
//	loop.go      an answer that repeats itself
//	outline.go   the sentences of an answer, and its files in fences
//	habits.go    calls and mistakes that a model repeats
//	progress.go  the time without news
//	lost.go      missing parts of answers
//	context.go   prompts that a server truncates
//	mark.go      a model's completion mark
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
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// showEvery limits the rate of display. firstWords is the minimum number of letters
// and digits to display, so that no fragment like "**What" flashes.
const (
	showEvery  = 32 * time.Millisecond
	firstWords = 8
	longAnswer = 32 << 10 // bytes; longer text is displayed less often
)

// Config configures a [Stream].
type Config struct {
	Parser *toolcall.Parser
	// Writes returns the file that a call writes, or "".
	Writes func(tool string, arguments json.RawMessage) string
	// Seen reports whether the model was shown a text: a file may repeat repetitions of
	// its source. nil means that nothing was shown.
	Seen func(text string) bool
	// Means returns the tool meant by an unknown name, or "". nil disables the guess.
	Means func(name string, arguments json.RawMessage) string
	Show  func(Shown)
	Now   func() time.Time

	Form    llm.Form   // requested form; "" means [llm.FormNative]
	View    prose.View // files shown to the model
	Sample  string     // path of a file in the prompt that is no file of the project; "" if there is none
	Offered []string   // tools offered to the model
	// Prose makes edits in fences count in an answer without calls. It is set if nothing
	// was changed so far and the mode allows writing.
	Prose bool
	// Asked is set if the model was asked which line has to change: its answer may state the
	// edit in a sentence.
	Asked bool
	// Line is the line that the model was asked to correct alone; nil means none.
	Line *prose.Line
	// Function is the function that the model was asked for alone; "" means none.
	Function string
}

// Shown is the visible state of a growing answer: the whole text so far, without
// thinking and call markup, and a Title for the current activity, such as "Thought
// for 8s" or "Writing net.py".
type Shown struct {
	Thinking, Content string
	Title             string
	Speed             int // estimated tokens per second; 0 if unknown
}

// Stream assembles one answer from its parts.
type Stream struct {
	Config
	asked time.Time // time of the request
	begun time.Time // time of the first part

	thinking, content strings.Builder
	calls             []llm.ToolCall
	inline            int  // bytes of thinking found in the content so far
	talks             bool // the content has text other than thinking
	thinkStart        time.Time
	thinkEnd          time.Time
	thought           bool   // the end of thinking was announced
	writing           string // title for the file being written, or ""
	shownAt           time.Time
	shown             bool
	done              llm.Part
	looked            int  // length at the last check for repetition
	circles           bool // it repeats itself
	late              bool // it exceeded its time limit and was stopped

	inThinking, inContent circles
}

// New returns the stream of an answer that is requested now.
func New(cfg Config) *Stream { return &Stream{Config: cfg, asked: cfg.Now()} }

// Whole reports whether the answer is complete.
func (s *Stream) Whole() bool { return s.done.Done }

// Stop ends an answer that exceeded its time limit. The part received so far counts.
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

// watchInline measures the time of thinking at the start of the content. It is not
// called after the first text that follows, so that long answers are not parsed
// repeatedly.
func (s *Stream) watchInline() {
	content := s.content.String()
	inner, rest := splitThinking("", content)
	if len(inner) > s.inline {
		s.inline = len(inner)
		s.thinks()
	}
	s.talks = len(content) > maxTag && strings.TrimSpace(rest) != ""
}

// thinks records that thinking continues.
func (s *Stream) thinks() {
	s.thinkEnd = s.Now()
	if s.thinkStart.IsZero() {
		s.thinkStart = s.thinkEnd
	}
}

// announce reports, at the first call, the end and the duration of thinking. Servers
// send a call only when it is complete, so the reader would otherwise see "thinking"
// while a file is being written.
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
	if title := "Writing " + path.Base(untrusted.MendMarks(file)); title != s.writing {
		s.writing = title
		s.Show(Shown{Title: title, Speed: s.speed()})
	}
}

// bytesPerToken is typical of common tokenizers for source code and English.
const bytesPerToken = 4

// minSpeedTime is the minimum time to measure the speed of an answer.
const minSpeedTime = 2 * time.Second

// speed returns the number of tokens per second, or 0 if it is unknown.
func (s *Stream) speed() int {
	took := s.Now().Sub(s.begun)
	if took < minSpeedTime {
		return 0
	}
	return max(1, int(float64(s.content.Len()+s.thinking.Len())/bytesPerToken/took.Seconds()))
}

// thinkTime returns the duration of thinking: from its first to its last part, or
// from the request if it arrives in one part. The time during which a server holds
// back a call does not count.
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

// display shows the growing answer, at a limited rate and without fragments of
// control words or calls.
func (s *Stream) display(last bool) {
	now := s.Now()
	every := showEvery * time.Duration(1+s.content.Len()/longAnswer) // each display parses the whole text
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
	thinking, content = untrusted.MendMarks(thinking), untrusted.MendMarks(content)
	s.Show(Shown{Thinking: thinking, Content: content, Title: title, Speed: s.speed()})
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

// Patterns that find the written file in an incomplete printed call.
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
