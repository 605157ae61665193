package host

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// sniffed is the number of leading bytes of a file that decide whether it is text.
const sniffed = 8 << 10

const (
	maxLine  = 4 << 10   // shown bytes of one line
	maxShown = 2 << 20   // shown bytes of one answer
	maxScan  = 256 << 20 // bytes read to count lines
)

// isBinary reports whether head, the beginning of a file, is not text: it has a NUL
// byte, is a PDF, or has much invalid UTF-8.
func isBinary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 || bytes.HasPrefix(head, []byte("%PDF-")) {
		return true
	}
	if utf8.Valid(head) {
		return false
	}
	bad := 0
	for i := 0; i < len(head); {
		if head[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(head[i:])
		if r == utf8.RuneError && size == 1 && utf8.FullRune(head[i:]) {
			bad++
		}
		i += size
	}
	return bad*10 > len(head)*3
}

// readRanges reads lines of a file into out, all of them if no ranges are given. out.Size
// must be the size of the file.
func readRanges(ctx context.Context, f io.Reader, ranges []workspace.Range, out *workspace.ReadResult) error {
	in := bufio.NewReaderSize(f, int(max(sniffed, min(64<<10, out.Size+1))))
	head, err := in.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if isBinary(head) {
		out.Binary = true
		return nil
	}
	if len(ranges) == 0 {
		out.Text = make([]byte, 0, min(maxShown, out.Size+1))
	}
	c := collector{file: out, ranges: normalize(ranges)}
	return c.collect(ctx, in)
}

// normalize sorts ranges, drops empty ones and joins adjacent ones.
func normalize(ranges []workspace.Range) []workspace.Range {
	if len(ranges) == 0 {
		return []workspace.Range{{From: 1}}
	}
	rs := make([]workspace.Range, 0, len(ranges))
	for _, r := range ranges {
		r.From = max(r.From, 1)
		if r.To <= 0 || r.From <= r.To {
			rs = append(rs, r)
		}
	}
	sort.Slice(rs, func(i, j int) bool { return rs[i].From < rs[j].From })
	out := rs[:0]
	for _, r := range rs {
		if n := len(out); n > 0 && (out[n-1].To <= 0 || r.From <= out[n-1].To+1) {
			if last := &out[n-1]; last.To > 0 && (r.To <= 0 || r.To > last.To) {
				last.To = r.To
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// collector reads a file once and collects the lines of ranges.
type collector struct {
	file   *workspace.ReadResult
	ranges []workspace.Range
	next   int // index of the first unfinished range
}

func (c *collector) collect(ctx context.Context, in *bufio.Reader) error {
	var line []byte
	var scanned int64
	open := false // a line has begun
	passed := 0   // skipped characters of the line
	for {
		part, err := in.ReadSlice('\n')
		scanned += int64(len(part))
		if i := bytes.IndexByte(part, 0); i >= 0 { // text that becomes binary, such as a sparse file
			part, scanned = part[:i], maxScan+1
			c.file.More = "what comes then is not text"
		}
		if len(part) > 0 {
			open = true
			if room := maxLine + utf8.UTFMax - len(line); room > 0 && c.wants(c.file.Lines+1) {
				part = c.from(part, &passed)
				line = append(line, part[:min(room, len(part))]...)
				if room < len(part) {
					c.file.Cut = true
				}
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || errors.Is(err, io.EOF):
			if open {
				c.file.Lines++
				c.add(c.file.Lines, line)
			}
			line, open, passed = line[:0], false, 0
			if err != nil {
				return nil
			}
		default:
			return err
		}
		if scanned > maxScan {
			c.file.Cut = true
			c.file.More = cmp.Or(c.file.More, "it is too long to be read to its end")
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (c *collector) wants(n int) bool {
	for c.next < len(c.ranges) && c.ranges[c.next].To > 0 && c.ranges[c.next].To < n {
		c.next++
	}
	return c.next < len(c.ranges) && c.ranges[c.next].From <= n
}

// from returns the part of a line from the requested column on. It counts in passed.
func (c *collector) from(part []byte, passed *int) []byte {
	r := c.ranges[c.next]
	if r.From != c.file.Lines+1 {
		return part
	}
	for i, b := range part {
		if utf8.RuneStart(b) {
			if *passed >= r.Column-1 || b == '\n' {
				return part[i:]
			}
			*passed++
		}
	}
	return nil
}

func (c *collector) add(n int, line []byte) {
	if !c.wants(n) {
		return
	}
	if len(c.file.Text) > maxShown {
		c.file.Cut = true
		return
	}
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	text, cut := cutLine(line)
	c.file.Cut = c.file.Cut || cut
	c.file.Text = append(append(c.file.Text, text...), '\n')
	if k := len(c.file.Spans); k > 0 && c.file.Spans[k-1].To == n-1 {
		c.file.Spans[k-1].To = n
		return
	}
	c.file.Spans = append(c.file.Spans, workspace.Range{From: n, To: n})
}

// cutLine prepares a line for display: valid UTF-8, at most maxLine bytes and a mark.
func cutLine(line []byte) ([]byte, bool) {
	cut := len(line) > maxLine
	if cut {
		n := maxLine
		for n > maxLine-utf8.UTFMax && !utf8.RuneStart(line[n]) {
			n--
		}
		line = line[:n]
	}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	if cut {
		line = append(slices.Clip(line), "… [line cut]"...)
	}
	return line, cut
}
