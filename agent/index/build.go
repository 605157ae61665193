package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Limits of requests.
const (
	maxTexts   = 16          // of one request
	maxOutage  = 8           // chunks refused in a row that mean an outage
	maxTrees   = 32          // waiting
	retryAfter = time.Minute // after an outage
)

// Want asks for the vectors of a tree, made in the background. The newest tree of a
// repository replaces one that still waits.
func (x *Index) Want(t Tree) {
	x.mu.Lock()
	x.queue = append(slices.DeleteFunc(x.queue, func(o Tree) bool { return o.Repo == t.Repo }), t)
	x.queue = x.queue[max(0, len(x.queue)-maxTrees):]
	x.mu.Unlock()
	select {
	case x.more <- struct{}{}:
	default: // told already
	}
}

// next removes the tree that waits longest.
func (x *Index) next() (t Tree, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.queue) == 0 {
		return t, false
	}
	t, x.queue = x.queue[0], x.queue[1:]
	return t, true
}

// run makes vectors until ctx ends.
func (x *Index) run(ctx context.Context) {
	defer close(x.done)
	for ctx.Err() == nil {
		t, ok := x.next()
		if !ok {
			select {
			case <-x.more:
			case <-ctx.Done():
			}
			continue
		}
		err := x.build(ctx, t)
		if err == nil || ctx.Err() != nil {
			continue
		}
		x.cfg.Log.WarnContext(ctx, "vectors of a tree are not complete", "repo", t.Repo, "err", err)
		x.tell(t.Repo, func(p *Progress) { p.Trouble = Public(err) })
		if llm.KindOf(err).Temporary() {
			pause := time.NewTimer(retryAfter)
			select {
			case <-pause.C:
				x.again(t)
			case <-x.more:
				x.again(t)
			case <-ctx.Done():
			}
			pause.Stop()
		}
	}
}

// again queues a tree, unless a newer one of its repository waits.
func (x *Index) again(t Tree) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !slices.ContainsFunc(x.queue, func(o Tree) bool { return o.Repo == t.Repo }) {
		x.queue = append(x.queue, t)
	}
}

// tell changes the progress of a repository.
func (x *Index) tell(repo string, change func(*Progress)) {
	x.mu.Lock()
	p := x.state[repo]
	p.Repo = repo
	change(&p)
	x.state[repo] = p
	x.mu.Unlock()
	if x.cfg.Told != nil {
		x.cfg.Told(p)
	}
}

// build makes the missing vectors of a tree.
func (x *Index) build(ctx context.Context, t Tree) error {
	m, err := x.maker(ctx)
	if err != nil {
		return err
	}
	known, err := x.load(ctx, m, t.Files)
	if err != nil {
		return err
	}
	var missing []File
	asked := map[string]bool{}
	for _, f := range t.Files {
		// The same content below another name may count.
		if known[f.Blob] == nil && !asked[f.Blob] && !Excludes(f.Path) {
			asked[f.Blob] = true
			missing = append(missing, f)
		}
	}
	x.tell(t.Repo, func(p *Progress) {
		p.Total, p.Done, p.Skipped, p.Trouble = len(t.Files), len(t.Files)-len(missing), 0, ""
	})
	e := &embedding{Index: x, maker: m, wait: x.cfg.Wait}
	for _, f := range missing {
		text, err := t.Read(ctx, f.Path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			x.cfg.Log.DebugContext(ctx, "a file has no vectors", "path", f.Path, "err", err)
		} else if _, err = e.file(ctx, f, text, cut(f.Path, text)); err != nil {
			return err
		}
		x.tell(t.Repo, func(p *Progress) { p.Done, p.Skipped = p.Done+1, e.skipped })
	}
	x.cfg.Log.InfoContext(ctx, "vectors of a tree are ready", "repo", t.Repo, "files", len(t.Files), "new", len(missing), "skipped", e.skipped)
	return nil
}

// embedding makes vectors of files, and counts.
type embedding struct {
	*Index

	maker
	wait    func(context.Context) error
	skipped int // chunks that the model did not take
	refused int // of these, the last ones in a row
}

// file makes and stores the vectors of one file, of which chunks are those of its text.
func (e *embedding) file(ctx context.Context, f File, text []byte, chunks []chunk) (*blob, error) {
	chunks = withoutSecrets(f.Path, text, chunks, e.cfg.Redact)
	b := &blob{dim: e.dim}
	before := e.refused
	for part := range slices.Chunk(chunks, maxTexts) {
		if err := e.chunks(ctx, b, part); err != nil {
			return nil, err
		}
	}
	if e.refused >= len(chunks) && len(chunks) > 0 && before > 0 {
		return b, nil // perhaps an outage: asked again the next time
	}
	if err := e.cfg.Vectors.PutVectors(ctx, e.key, f.Blob, b.bytes()); err != nil {
		return nil, fmt.Errorf("store vectors: %w", err)
	}
	e.keep(e.maker, f.Blob, b)
	return b, nil
}

// withoutSecrets returns the chunks of a file without its secrets: the given ones if there
// are none. The whole file is redacted, so that a secret at the border of two chunks is
// found. If that changes the number of lines, there are no chunks.
func withoutSecrets(name string, text []byte, chunks []chunk, redact func(string) string) []chunk {
	clean := redact(string(text)) //control:embedded-redacted
	switch {
	case clean == string(text):
		return chunks
	case strings.Count(clean, "\n") != strings.Count(string(text), "\n"):
		return nil
	}
	return cut(name, []byte(clean))
}

// chunks adds the vectors of chunks to b. If the model refuses them together, it is asked
// for each alone.
func (e *embedding) chunks(ctx context.Context, b *blob, list []chunk) error {
	vectors, err := e.ask(ctx, list)
	if err == nil {
		e.refused = 0
		for i, c := range list {
			b.add(span{c.From, c.To}, quantize(vectors[i]))
		}
		return nil
	}
	if isOutage(ctx, err) {
		return err
	}
	for _, c := range list {
		one, err := e.ask(ctx, []chunk{c})
		if err != nil && !isOutage(ctx, err) && len(c.Text) > 400 { // perhaps too long for the model
			short := c
			short.Text = strings.ToValidUTF8(c.Text[:len(c.Text)/3], "")
			one, err = e.ask(ctx, []chunk{short})
		}
		switch {
		case err == nil:
			e.refused = 0
			b.add(span{c.From, c.To}, quantize(one[0]))
			continue
		case isOutage(ctx, err):
			return err
		}
		b.add(span{c.From, c.To}, vector{})
		e.skipped++
		if e.refused++; e.refused >= maxOutage {
			return &llm.Error{Kind: llm.Cut, Public: fmt.Sprintf("the model took none of %d texts", e.refused), Err: err}
		}
		e.cfg.Log.DebugContext(ctx, "a chunk is skipped", "from", c.From, "err", err)
	}
	return nil
}

// ask asks the model for the vectors of chunks, one request at a time.
func (e *embedding) ask(ctx context.Context, list []chunk) ([][]float32, error) {
	if err := e.wait(ctx); err != nil {
		return nil, err
	}
	p := prefixes(e.cfg.Embedder.Name())
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = e.cut(p.text + c.Text)
	}
	vectors, err := e.embed(ctx, texts)
	if err == nil && len(vectors[0]) != e.dim {
		err = fmt.Errorf("vectors have %d numbers, before they had %d", len(vectors[0]), e.dim)
	}
	return vectors, err
}

// isOutage reports whether other texts would fail, too.
func isOutage(ctx context.Context, err error) bool {
	switch llm.KindOf(err) {
	case llm.Unreachable, llm.Busy, llm.NotFound, llm.Unsupported, llm.Refused:
		return true
	}
	return ctx.Err() != nil || errors.Is(err, context.Canceled)
}

// lateFile is a changed file with its vectors.
type lateFile struct {
	path string
	blob *blob
}

// embedLate returns the vectors of changed files below a directory, and the number of
// files that are too many for a question.
func (x *Index) embedLate(
	ctx context.Context, m maker, changed map[string][]byte, under string,
) ([]lateFile, int, error) {
	var files []File
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		if changed[name] != nil && isBelow(name, under) && !Excludes(name) {
			files = append(files, File{name, blobOf(changed[name])})
		}
	}
	known, err := x.load(ctx, m, files)
	if err != nil {
		return nil, 0, err
	}
	e := &embedding{Index: x, maker: m, wait: func(context.Context) error { return nil }}
	var out []lateFile
	room, left := maxLate, 0
	for _, f := range files {
		b := known[f.Blob]
		if b == nil {
			chunks := cut(f.Path, changed[f.Path])
			if len(chunks) > room {
				left++
				continue
			}
			room -= len(chunks)
			if b, err = e.file(ctx, f, changed[f.Path], chunks); err != nil {
				return nil, 0, err
			}
		}
		out = append(out, lateFile{f.Path, b})
	}
	return out, left, nil
}
