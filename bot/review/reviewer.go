package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/ghapp/reads"
	"github.com/handrail-bot/handrail/bot/thread"
)

// Place is the target of a review.
type Place struct {
	Thread thread.Ref
	Pull   *ghapp.Pull // nil for an issue
	Home   string      // address of the repository
}

// Session is the part of a session that its review needs.
type Session struct {
	Place
	ID          string
	State       *session.State
	After       int64            // last event with posted findings
	MaxComments int              // maximum number of comments on lines
	Least       session.Severity // least severity to tell; "" means all
	Client      *ghapp.Client
	Earlier     func(context.Context) ([]*session.State, error) // earlier sessions of the thread
	Keyed       func(body string) string                        // returns the key that a text claims to have
	Ensure      func(context.Context, ghapp.Write) (ghapp.Ref, error)
	Asked       bool                                                // by a user, whose request has a comment
	Has         func(ctx context.Context, key string) (bool, error) // reports whether a write was made
	// returns the author of the pull request, to be mentioned; nil disables mentions
	Author func(context.Context) ([]string, error)
	// reports whether a write is retried in the background
	Later func(ctx context.Context, kind string, err error) bool
}

// maxDiff is the maximum size of a diff, in bytes.
const maxDiff = 8 << 20

// Post posts the findings since the last review, and resolves the bot's own threads about
// code that is gone. It returns the review's address; without findings to post, it
// returns no address but the coverage.
func (s Session) Post(ctx context.Context) (address, coverage string, err error) {
	in, err := s.input(ctx)
	if err != nil {
		return "", "", err
	}
	all := slices.Clone(in.Said)
	talks, err := s.earlierOutcomes(ctx, &in)
	if err != nil {
		return "", "", err
	}
	told := slices.Clone(in.Said)
	if err := s.follow(ctx, &in); err != nil {
		return "", "", err
	}
	now := map[string]session.Finding{}
	for i, f := range told {
		now[findingMark(f)] = in.Said[i]
	}
	r := compose(in)
	if !r.Empty() {
		ref, err := s.put(ctx, in, r)
		if err != nil {
			return "", "", err
		}
		address = ref.URL
	}
	h := s.history()
	rows, err := h.rows(ctx, all, now, in.At, talks)
	for _, f := range r.All() {
		rows = append(rows, row{Finding: f, Now: f, State: open})
	}
	if err == nil && s.Pull != nil && len(rows) > 0 {
		if err = h.fixedIn(ctx, rows, in.At); err == nil {
			in.Checks, err = s.checks(ctx)
		}
	}
	if err != nil {
		return "", "", err
	}
	coverage, err = s.stand(ctx, in, rows)
	if err != nil {
		return "", "", err
	}
	if address == "" {
		coverage = cmp.Or(coverage, in.Coverage())
	}
	return address, coverage, s.settle(ctx, in, talks)
}

// earlierOutcomes reads the outcome of earlier findings. A rejected finding is never repeated. One
// that the bot resolved because its code was gone is reported again if the code is back.
func (s Session) earlierOutcomes(ctx context.Context, in *input) ([]talk, error) {
	if s.Pull == nil {
		return nil, nil
	}
	talks, err := s.talks(ctx, s.Client, s.Keyed, s.commit())
	talks = slices.DeleteFunc(
		talks,
		func(t talk) bool { return t.look == s.postingID() },
	) // left by an interrupted attempt
	isNo, open, ended := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, t := range talks {
		if t.isNo {
			isNo[t.mark] = true
			in.Marks = append(in.Marks, t.mark)
		}
		open[t.mark] = open[t.mark] || !t.ended
		ended[t.mark] = ended[t.mark] || t.ended
	}
	said := in.Said
	in.Said = nil
	for _, f := range said {
		m := findingMark(f)
		if isNo[m] {
			in.No = append(in.No, f)
		}
		if open[m] || !ended[m] { //control:taken-back-is-said-again
			in.Said = append(in.Said, f)
		}
	}
	return talks, err
}

// settle resolves the threads about code that is gone, without a word: the list of findings
// says the rest. A thread stays open if the finding was made again in other code. A refusal
// by GitHub is no error.
func (s Session) settle(ctx context.Context, in input, talks []talk) error {
	for _, t := range talks {
		again := slices.ContainsFunc(in.Findings, func(f session.Finding) bool {
			return f.Refuted == "" &&
				(findingMark(f) == t.mark || slices.ContainsFunc(in.Said,
					func(e session.Finding) bool { return findingMark(e) == t.mark && same(e, f) }))
		})
		if !t.gone || t.isNo || t.Resolved || again || !s.State.Finished() { //control:threads-that-stay
			continue
		}
		w := ghapp.Write{
			Key:    fmt.Sprintf("gone-%d-resolve", t.root),
			Kind:   ghapp.WriteResolve,
			Target: ghapp.Target{Talk: t.Talk},
		}
		if _, err := s.Ensure(ctx, w); ghapp.UnlessRefused(err) != nil && !s.Later(ctx, string(w.Kind), err) {
			return err
		}
	}
	return nil
}

// input collects the facts for a review.
func (s Session) input(ctx context.Context) (in input, err error) {
	in = input{MaxComments: s.MaxComments, Least: s.Least, Link: s.link}
	for _, f := range s.State.Findings {
		if f.Seq <= s.After {
			if f.Refuted == "" {
				in.Said = append(in.Said, *f.Finding)
			}
			continue
		}
		in.Findings = append(in.Findings, *f.Finding)
	}
	before, err := s.Earlier(ctx)
	if err != nil {
		return in, err
	}
	in.Again = len(before) > 0 || s.After > 0
	in.At = map[string]string{}
	for _, v := range before {
		for _, f := range v.Findings {
			if f.Refuted == "" {
				in.Said, in.At[findingMark(*f.Finding)] = append(in.Said, *f.Finding), v.Published
			}
		}
	}
	if out := s.State.Outcome; out != nil {
		in.Words = out.Summary
	}
	if s.Pull == nil {
		return in, nil
	}
	files, moved, err := s.diff(ctx)
	if moved {
		in.Moved = s.commit()
	}
	for _, f := range files {
		in.Files = append(in.Files, file{Path: f.Path, Patch: f.Patch})
		switch {
		case s.read(f.Path):
			in.Read++
		case f.Patch != "" || f.Additions+f.Deletions > 0: // a binary file has neither
			in.Unread = append(in.Unread, f.Path)
		}
	}
	return in, err
}

// follow moves the earlier findings to their lines in the commit that was read now.
func (s Session) follow(ctx context.Context, in *input) error {
	if s.Pull == nil {
		return nil
	}
	known := map[string][]change{}
	for i, f := range in.Said {
		from := in.At[findingMark(f)]
		if from == "" || from == s.commit() {
			continue
		}
		if _, ok := known[from]; !ok && len(known) < maxHeads {
			files, ahead, err := reads.Forward(ctx, s.Client, s.Thread, from, s.commit())
			if err != nil && ghapp.KindOf(err) != ghapp.Permanent {
				return err
			}
			if err == nil && ahead {
				known[from] = changesOf(files)
			}
		}
		changes, ok := known[from]
		if in.Said[i] = follow(f, changes); !ok {
			in.Said[i].Line, in.Said[i].End = 0, 0
		}
	}
	return nil
}

// maxHeads is the maximum number of earlier commits whose findings are followed by line.
const maxHeads = 10

// rows lists the earlier findings of the pull request with their state, each once. now has
// them on their present lines, and at the commits where they were made, by their marks.
func (h history) rows(
	ctx context.Context, all []session.Finding, now map[string]session.Finding, at map[string]string, talks []talk,
) (rows []row, err error) {
	for i, f := range all {
		mark := findingMark(f)
		again, gone := false, false
		if h.Pull != nil {
			if again, err = h.isRepeat(ctx, all, i, at, talks); err == nil && !again && !hasThread(talks, mark) {
				gone, err = h.isGone(ctx, f, at[mark])
			}
		}
		if err != nil {
			return nil, err
		}
		if again { //control:repeat-is-no-row
			continue
		}
		row := row{Finding: f, Now: now[mark], State: open}
		if gone { //control:gone-is-fixed
			row.State = fixed
		}
		for _, t := range talks {
			if t.mark != mark {
				continue
			}
			switch row.At = t.root; {
			case t.isNo:
				row.State = answered
			case t.gone || t.ended:
				row.State = fixed
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// stand keeps the one comment of a pull request that lists all findings with their state. It
// is edited across pushes; without any finding there is none. The comment of a request shows
// the list itself: it is returned then, unless that comment is there already.
func (s Session) stand(ctx context.Context, in input, rows []row) (list string, err error) {
	if s.Pull == nil || len(rows) == 0 {
		return "", nil
	}
	text := standing(rows, in, s.commit(), s.Home, s.Thread.Number)
	key := "standing-" + ghapp.Digest(s.Thread.Key())
	there, err := s.Has(ctx, key)
	if err != nil || s.Asked && !there {
		return text, err
	}
	ref, err := s.Ensure(ctx, ghapp.Write{Key: key, Kind: ghapp.WriteComment, Body: text})
	if err == nil { //control:standing-is-edited
		_, err = s.Ensure(ctx, ghapp.Write{
			Key:    key + "-" + ghapp.Digest(s.postingID(), text),
			Kind:   ghapp.WriteEditComment,
			Target: ghapp.Target{Comment: ref.ID},
			Body:   text,
		})
	}
	return "", ghapp.UnlessRefused(err)
}

// diff returns the diff of the commit that was read. Later pushes are not reviewed.
func (s Session) diff(ctx context.Context) (files []reads.File, moved bool, err error) {
	now, err := s.Client.GetPull(ctx, s.Thread)
	if err != nil {
		return nil, false, err
	}
	if now.HeadSHA != s.commit() { //control:lines-of-what-was-read
		files, err = reads.Compare(ctx, s.Client, s.Thread, now.BaseSHA, s.commit())
		return files, true, err
	}
	d, err := reads.PullDiff(ctx, s.Client, s.Thread, maxDiff, nil)
	return append(d.Files, d.Left...), false, err
}

// read reports whether the session read a file or was shown its whole diff.
func (s Session) read(path string) bool {
	items := s.State.Task.Context
	for _, m := range s.State.Timeline {
		switch m := m.(type) {
		case *session.ToolRun:
			if strings.Contains(m.Title, path) && slices.Contains([]string{"read_file", "github", "github_pull_request_diff", "run_terminal_command"}, m.Name) {
				return true
			}
		case *session.Message:
			items = append(slices.Clip(items), m.Context...)
		}
	}
	return slices.ContainsFunc(items, func(it session.Item) bool {
		return strings.Contains(it.Name, "Diff of ") && strings.Contains(it.Name, path+" (") &&
			!strings.Contains(it.Text, "[shortened")
	})
}

// maxTries is the maximum number of attempts to post a review.
const maxTries = 6

// put posts a review in one piece. GitHub refuses a whole review for one bad comment and
// need not say which one. Each further attempt therefore moves one group of comments to
// the summary. Each attempt is a write with its own key, so a crash repeats none of them.
func (s Session) put(ctx context.Context, in input, r review) (ghapp.Ref, error) {
	key := "review-" + s.postingID()
	parts := suspects(r.Comments)
	whom, err := s.whom(ctx, r)
	if err != nil {
		return ghapp.Ref{}, err
	}
	for try := 0; s.Pull != nil && try <= len(parts)+1; try++ {
		now, at := r, key
		if try > 0 {
			now = in.Without(r, func(c comment) bool { return try > len(parts) || slices.Contains(parts[try-1], c.Mark) }) //control:refused-is-split
			at = fmt.Sprintf("%s-%d", key, try+1)
		}
		ref, err := s.Ensure(
			ctx,
			ghapp.Write{Key: at, Kind: ghapp.WriteReview, Mentions: whom, Review: s.spec(now), First: true},
		)
		var no *ghapp.Refusal
		if !errors.As(err, &no) {
			return ref, err
		}
	}
	all := in.Without(r, func(comment) bool { return true }) //control:refused-is-told
	ref, err := s.Ensure(
		ctx,
		ghapp.Write{Key: key + "-below", Kind: ghapp.WriteComment, Mentions: whom, Body: all.Body, First: true},
	)
	return ref, ghapp.UnlessRefused(err)
}

// whom returns the accounts that a review mentions: the author, if it was not asked for and
// has a sure finding of high severity.
func (s Session) whom(ctx context.Context, r review) ([]string, error) {
	grave := func(f session.Finding) bool { return f.Severity == session.High && f.Unsure == "" }
	if s.Asked || s.Author == nil || !slices.ContainsFunc(r.All(), grave) { //control:mention-of-high-severity
		return nil, nil
	}
	return s.Author(ctx)
}

// suspects divides comments into groups of marks. The comments that GitHub most often
// refuses come first: those on the old side or on several lines.
func suspects(list []comment) (parts [][]string) {
	list = slices.Clone(list)
	doubtful := func(c comment) int {
		if c.Old || c.From > 0 {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b comment) int { return doubtful(a) - doubtful(b) })
	n := min(len(list), maxTries-2) // without the first attempt and the last, which has no comments
	for i := range n {
		var part []string
		for _, c := range list[i*len(list)/n : (i+1)*len(list)/n] {
			part = append(part, c.Mark)
		}
		parts = append(parts, part)
	}
	return parts
}

func (s Session) spec(r review) *ghapp.ReviewSpec {
	spec := &ghapp.ReviewSpec{Commit: s.commit(), Body: r.Body}
	if len(r.Comments) == 0 {
		spec.Commit = "" // it may be gone, and no line needs it
	}
	for _, c := range r.Comments {
		spec.Comments = append(
			spec.Comments,
			ghapp.Inline{
				Path:      c.Path,
				Line:      c.To,
				StartLine: c.From,
				Left:      c.Old,
				Body:      c.Body,
				Key:       c.Mark + "." + s.postingID(),
			},
		)
	}
	return spec
}

// postingID identifies one posting of findings.
func (s Session) postingID() string { return fmt.Sprintf("%s-%d", s.ID, s.State.EndedAt) }

// commit returns the commit that was read.
func (s Session) commit() string { return s.State.Published }

// link returns the address of a finding's lines at the commit that was read.
func (s Session) link(f session.Finding) string {
	at := s.commit()
	if f.Old && s.Pull != nil {
		at = s.Pull.BaseSHA
	}
	var path []string
	for p := range strings.SplitSeq(f.Path, "/") {
		path = append(path, url.PathEscape(p))
	}
	lines := fmt.Sprintf("L%d", f.Line)
	if f.Last() > f.Line {
		lines += fmt.Sprintf("-L%d", f.Last())
	}
	return fmt.Sprintf("%s/blob/%s/%s#%s", s.Home, at, strings.Join(path, "/"), lines)
}
