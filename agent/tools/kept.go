package tools

import (
	"fmt"
	"strings"
	"sync"
)

// Limits of an output as the model sees it. The rest is kept.
const (
	headLines   = 15
	TailLines   = 85
	PageLines   = 200  // of read_output
	MaxOutLine  = 2000 // bytes
	MaxOutBytes = 48 << 10
)

// maxKept limits the bytes of output in a session's log, besides results of calls.
const maxKept = 32 << 20

// Kept issues handles for the outputs of a session, and counts their bytes. It is safe
// for concurrent use.
type Kept struct {
	mu    sync.Mutex
	last  int
	bytes int
	none  bool // nothing can be kept
}

func newKept(cfg Config) *Kept {
	return &Kept{last: cfg.Shelled.Handles, bytes: cfg.Shelled.Kept, none: cfg.Output == nil}
}

// Handle returns a new handle, which begins with a letter.
func (k *Kept) Handle(letter string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	return fmt.Sprintf("%s%d", letter, k.last)
}

// KeepAll keeps all of an output that res shows only in part, and adds to res how to read
// the rest.
func (k *Kept) KeepAll(res *Result, out string) {
	lines := strings.Count(strings.TrimRight(out, "\n"), "\n") + 1
	if strings.HasPrefix(out, "<untrusted ") { // read_output numbers the lines between the marks
		lines -= 2
	}
	if k.none || strings.HasPrefix(res.Content, strings.TrimRight(out, "\n")) {
		return
	}
	k.mu.Lock()
	full := k.bytes+len(out) > maxKept //control:bounded-outputs
	if !full {
		k.bytes += len(out)
	}
	k.mu.Unlock()
	if full {
		res.Content += fmt.Sprintf(
			"\n[What is missing here is not kept: the session keeps at most %d MiB. Print less, or into a file.]",
			maxKept>>20,
		)
		return
	}
	res.Output, res.Handle = out, k.Handle("o")
	from, to := headLines+1, lines-TailLines
	if to < from {
		from, to = 1, lines
	}
	res.Content += fmt.Sprintf(
		"\n[All %d line%s are kept: read_output {\"id\":%q,\"lines\":\"%d-%d\"} or {\"id\":%q,\"search\":\"error\"}]",
		lines,
		Plural(lines),
		res.Handle,
		from,
		min(to, from+PageLines-1),
		res.Handle,
	)
}

// CutOutput returns the first 15 and the last 85 lines of s. lost is the number of
// bytes that the host dropped from the middle.
func CutOutput(s string, lost int64, most int) string {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return ""
	}
	lines := strings.Split(s, "\n")
	if n := len(lines) - headLines - TailLines; n > 0 {
		head := append(lines[:headLines:headLines], fmt.Sprintf("[%d lines truncated]", n))
		lines = append(head, lines[len(lines)-TailLines:]...)
	}
	for i, l := range lines {
		lines[i] = Shorten(l, MaxOutLine)
	}
	s = strings.Join(lines, "\n")
	if len(s) > most {
		head, tail := s[:most/6], s[len(s)-most*5/6:]
		s = strings.ToValidUTF8(
			head,
			"",
		) + fmt.Sprintf(
			"\n[%d characters truncated]\n",
			len(s)-len(head)-len(tail),
		) + strings.ToValidUTF8(
			tail,
			"",
		)
	}
	if lost > 0 {
		s += fmt.Sprintf("\n[%d bytes in the middle of the output were too much to keep]", lost)
	}
	return s
}
