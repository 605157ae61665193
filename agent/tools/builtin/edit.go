package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/patch/syntax"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// change is the effect of a call on one file.
type change struct {
	path    string
	before  string
	after   string
	existed bool
	remove  bool
	from    string   // old path of a renamed file; before is the text at that path
	notes   []string // tolerances applied, for the model
	fault   string   // position and reason if after does not parse
	form    tools.Encoding
}

// plan is the outcome of a writing call before it runs: the changes in order, and
// errors for the files with edits that do not apply. Those files are unchanged.
type plan struct {
	changes []change
	failed  []string
}

// planner makes a tool from a planning function. Intent shows the plan; Run plans again
// and applies the result.
type planner struct {
	kit  *tools.Kit
	make func(ctx context.Context, a tools.Args) (plan, error)
}

func editor(k *tools.Kit, s tools.Sheet, plans func(ctx context.Context, a tools.Args) (plan, error)) tools.Tool {
	p := &planner{kit: k, make: func(ctx context.Context, a tools.Args) (plan, error) {
		pl, err := plans(ctx, a)
		for i := 0; err == nil && i < len(pl.changes); i++ {
			if err = pl.changes[i].guard(tools.IsStrict(ctx)); err == nil {
				err = pl.onlyCase(ctx, k, pl.changes[i])
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", pl.changes[i].path, err)
			}
		}
		return pl, err
	}}
	return tools.New(s, p.intent, p.run)
}

// onlyCase returns an error if c would create a file with a name that differs from an
// existing one only in case.
func (pl plan) onlyCase(ctx context.Context, k *tools.Kit, c change) error {
	if c.remove || c.existed && c.from == "" {
		return nil
	}
	there, err := k.OnlyCase(ctx, c.path)
	removed := slices.ContainsFunc(pl.changes, func(o change) bool { return o.path == there && o.remove })
	if err != nil || there == "" || there == c.from || removed { //control:case-asks-back
		return err
	}
	return fmt.Errorf("nothing was written, because there is %s already, "+
		"and names that differ only in upper and lower case are one on macOS and Windows; did you mean %s?", there, there)
}

// guard refuses a new text that is clearly a mistake, and notes one that may be. If it is strict, an edit
// that breaks the file is a mistake.
func (c *change) guard(strict bool) error {
	if c.remove || c.from != "" && c.before == c.after {
		return nil
	}
	if strings.TrimSpace(c.before) == "" {
		if err := c.whole(c.after); err != nil {
			return err
		}
	}
	if err := patch.Foreign(c.path, c.before, c.after); err != nil {
		return err
	}
	if _, err := c.form.Encode(c.after); err != nil {
		return fmt.Errorf("nothing was changed, because %w", err)
	}
	const unread = "\uFFFD"
	if !utf8.ValidString(c.before) && strings.Count(c.after, unread) > strings.Count(c.before, unread) {
		return errors.New(
			"nothing was changed, because the file has bytes that are no text, and \uFFFD stands for them in what was read; " +
				"change only other lines, with edit_file or apply_diff",
		)
	}
	if strict && c.existed && c.from == "" && loses(c.before, c.after) { //control:most-lines-stay
		return fmt.Errorf("nothing was changed, because this edit would take most of the text out of %s. "+
			"Keep all that does not have to change", c.path)
	}
	if left := patch.LeftOver(c.path, c.before, c.after); left != "" {
		c.notes = append(c.notes, left)
	}
	if fault := syntax.Check(c.path, c.after); fault != nil && !c.same() { //control:syntax-told
		still := ""
		switch had := c.existed && c.from == "" && strings.TrimSpace(c.before) != ""; {
		case had && !c.breaks(c.after):
			still = " still"
		case had && strict: //control:edits-keep-syntax
			return c.unparsable(fault)
		}
		c.fault = fault.Error()
		c.notes = append(c.notes, c.path+still+patch.NotParsed+c.fault+".")
	}
	return nil
}

// minLost is the size in lines from which a file can lose most of its text.
const minLost = 5

// loses reports whether less than half of the lines and of the words of a text are left.
func loses(before, after string) bool {
	kept := func(split func(string) []string) (kept, all int) {
		have := map[string]int{}
		for _, s := range split(after) {
			have[s]++
		}
		for _, s := range split(before) {
			if s == "" {
				continue
			}
			all++
			if have[s]--; have[s] >= 0 {
				kept++
			}
		}
		return kept, all
	}
	lines, all := kept(func(text string) (out []string) {
		for line := range strings.Lines(text) {
			out = append(out, strings.TrimSpace(line))
		}
		return out
	})
	words, of := kept(strings.Fields)
	return all >= minLost && 2*lines < all && 2*words < of
}

// whole replaces all text of the file, without the wrapping that weak models add.
func (c *change) whole(text string) error {
	text, notes := patch.Clean(c.path, c.before, text)
	if err := patch.Garbage(c.path, c.before, text); err != nil {
		return err
	}
	c.notes = append(c.notes, notes...)
	c.after = text
	return nil
}

func (p *planner) intent(ctx context.Context, a tools.Args) (policy.Action, error) {
	pl, err := p.make(ctx, a)
	if err != nil {
		return policy.Action{}, err
	}
	action := policy.Action{Kind: policy.Write}
	var show strings.Builder
	for _, c := range pl.changes {
		action.Paths = append(action.Paths, c.path)
		if c.from != "" {
			action.Paths = append(action.Paths, c.from)
		}
		if c.remove || c.from != "" {
			action.Kind = policy.Delete
		}
		action.Effects = append(action.Effects, c.effects()...)
		show.WriteString(c.display())
	}
	action.Display = show.String()
	return action, nil
}

// display returns the change as shown for approval: a complete diff, or the digest of
// binary content.
func (c change) display() string {
	from, to := c.path, c.path
	switch {
	case c.from != "":
		from = c.from
	case !c.existed:
		from = ""
	}
	if c.remove {
		to = ""
	}
	switch {
	case c.same():
		return fmt.Sprintf("(no change: %s already has exactly this content)\n", c.path)
	case isBinary(c.before):
		return fmt.Sprintf("--- %s (binary, %d bytes, sha256 %x)\n", c.path, len(c.before), sha256.Sum256([]byte(c.before))) +
			patch.UnifiedFile("", to, "", c.after)
	case c.before == "" && c.after == "":
		verb := map[bool]string{false: "create", true: "delete"}[c.remove]
		return fmt.Sprintf("%s the empty file %s\n", verb, c.path)
	}
	return patch.UnifiedFile(from, to, c.before, c.after)
}

// effects returns the effects on files. File modes do not change.
func (c change) effects() []policy.Effect {
	was, is := "", ""
	if c.existed {
		was = c.blob(c.before)
	}
	if !c.remove {
		is = c.blob(c.after)
	}
	switch {
	case c.same():
		return nil // the existing content was not shown
	case c.from != "":
		return []policy.Effect{{Path: c.from, Was: was}, {Path: c.path, Is: is}}
	}
	return []policy.Effect{{Path: c.path, Was: was, Is: is}}
}

// blob returns the blob ID of a text in the encoding of the file.
func (c change) blob(text string) string {
	data, err := c.form.Encode(text)
	if err != nil {
		return "" // guard refuses it
	}
	return policy.BlobID(string(data))
}

func (c change) same() bool { return c.existed && !c.remove && c.from == "" && c.before == c.after }

func isBinary(s string) bool { return strings.IndexByte(s[:min(len(s), 8000)], 0) >= 0 }

func (p *planner) run(ctx context.Context, a tools.Args, emit tools.Progress) (tools.Result, error) {
	pl, err := p.make(ctx, a)
	if err != nil {
		return tools.Result{}, err
	}
	var res tools.Result
	var say []string
	for i, c := range pl.changes {
		if c.same() {
			say = append(say, fmt.Sprintf("%s already has exactly this content; nothing was written.", c.path))
			continue
		}
		emit("Writing " + c.path)
		err := p.write(ctx, c)
		if err != nil {
			if i > 0 && !errors.Is(err, workspace.ErrGone) {
				err = fmt.Errorf("%w (written before that: %s)", err, strings.Join(say, " "))
			}
			return tools.Result{}, err
		}
		done := c.counted()
		res.Changes = append(res.Changes, done)
		say = append(say, c.told(done))
	}
	if len(pl.failed) > 0 {
		res.Mistake, res.Class = true, session.ClassEdit
		say = append(say, pl.failed...)
	}
	res.Content = strings.Join(say, "\n")
	res.Title = title(res.Changes)
	return res, nil
}

// write writes a change. It takes a strict caller's edit back if the parser of the language rejects the
// file, which it did not do before. Without a parser in the workspace every edit stays.
func (p *planner) write(ctx context.Context, c change) error {
	judged := tools.IsStrict(ctx) && p.kit.Code != nil && c.existed && !c.remove && c.from == "" && !syntax.Parsed(c.path)
	judged = judged && p.fault(ctx, c.path) == nil
	if err := write(ctx, p.kit, c); err != nil || !judged {
		return err
	}
	fault := p.fault(ctx, c.path)
	if fault == nil {
		return nil
	}
	c.after = c.before
	if err := write(ctx, p.kit, c); err != nil { //control:broken-is-taken-back
		return err
	}
	return fmt.Errorf("%s: %w", c.path, c.unparsable(fault))
}

// fault returns the first error that the parser of its language finds in a file. A parser that is missing,
// or fails, finds none.
func (p *planner) fault(ctx context.Context, path string) error {
	list, err := p.kit.Code.Problems(ctx, workspace.ProblemsQuery{Paths: []string{path}, Parse: true})
	if err != nil || len(list) != 1 || len(list[0].Items) == 0 {
		return nil //nolint:nilerr // as documented
	}
	return fmt.Errorf("line %d: %s", list[0].Items[0].Line, list[0].Items[0].Message)
}

func (c change) unparsable(fault error) error {
	return fmt.Errorf("nothing was changed, because with this edit %s%s%w", c.path, patch.NotParsed, fault)
}

func write(ctx context.Context, k *tools.Kit, c change) error {
	if c.remove {
		return k.Files.Remove(ctx, c.path)
	}
	data, err := c.form.Encode(c.after)
	if err != nil {
		return err
	}
	if err := k.Files.Write(ctx, c.path, data); err != nil {
		return err
	}
	if c.from != "" {
		return k.Files.Remove(ctx, c.from)
	}
	return nil
}

func (c change) counted() session.FileChange {
	f := session.FileChange{Path: c.path, From: c.from, Kind: session.ChangeModify, Fault: c.fault}
	switch {
	case c.remove:
		f.Kind = session.ChangeDelete
	case c.from != "":
		f.Kind = session.ChangeRename
	case !c.existed:
		f.Kind = session.ChangeCreate
	}
	if !isBinary(c.before) {
		f.Added, f.Removed = patch.Count(c.before, c.after)
	}
	return f
}

func (c change) told(f session.FileChange) string {
	verb := map[session.ChangeKind]string{session.ChangeCreate: "Created", session.ChangeModify: "Changed", session.ChangeDelete: "Deleted", session.ChangeRename: "Renamed " + c.from + " to"}[f.Kind]
	s := fmt.Sprintf("%s %s (+%d −%d).", verb, c.path, f.Added, f.Removed)
	if len(c.notes) > 0 {
		s += " Note: " + strings.Join(c.notes, " ")
	}
	return s
}

func title(changes []session.FileChange) string {
	if len(changes) == 0 {
		return ""
	}
	added, removed := 0, 0
	for _, c := range changes {
		added, removed = added+c.Added, removed+c.Removed
	}
	name := changes[0].Path
	if n := len(changes) - 1; n > 0 {
		name = fmt.Sprintf("%s and %d more", name, n)
	}
	verb := map[session.ChangeKind]string{session.ChangeCreate: "Created", session.ChangeModify: "Edited", session.ChangeDelete: "Deleted", session.ChangeRename: "Renamed"}[changes[0].Kind]
	return fmt.Sprintf("%s %s (+%d −%d)", verb, name, added, removed)
}

// maxEdit is the maximum size of an edited file in bytes: edits happen in memory.
const maxEdit = 8 << 20

// current returns the change of rel before any edit: its path with symlinks resolved,
// and its present text. existed is false if the file is missing.
func current(ctx context.Context, k *tools.Kit, rel string) (c change, err error) {
	if c.path, err = k.Landing(ctx, rel); err != nil {
		return c, err
	}
	if c.path == "." {
		return c, fmt.Errorf("edit %s: %w", rel, workspace.ErrNotFile)
	}
	data, _, err := k.Files.ReadAll(ctx, c.path, maxEdit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return c, err
	}
	tools.NoteRead(ctx, c.path)
	c.before, c.form = tools.Decode(data) //control:encoding-kept
	c.existed = true
	return c, nil
}

// existing is current for tools that only modify files: a missing file is an error.
func existing(ctx context.Context, k *tools.Kit, rel string) (change, error) {
	c, err := current(ctx, k, rel)
	if err != nil {
		return c, err
	}
	if !c.existed {
		if c, err = nearest(ctx, k, rel); err != nil {
			return c, err
		}
	}
	if !c.existed {
		return c, fmt.Errorf("edit %s: %w", rel, k.NotThere(ctx, rel))
	}
	if bytes.IndexByte([]byte(c.before), 0) >= 0 {
		return c, fmt.Errorf("edit %s: %w", rel, workspace.ErrBinary)
	}
	return c, nil
}

// nearest is current for the only file with the base name of rel. The caller has found
// that rel itself is missing.
func nearest(ctx context.Context, k *tools.Kit, rel string) (change, error) {
	near, ok, err := k.Nearest(ctx, rel)
	if err != nil || !ok {
		return change{}, err
	}
	c, err := current(ctx, k, near)
	c.notes = append(c.notes, fmt.Sprintf("There is no %s; %s is the only file of that name.", rel, near))
	return c, err
}
