// Package index finds code by its meaning. A model turns chunks of files into vectors; a
// question becomes one, too, and the chunks in its direction answer it.
//
// Vectors belong to the content of a file, by its id in git: another branch, a rebase or
// the next commit costs only the files that are new. They are made in the background, by
// one request at a time, while no conversation streams. Files that a session has changed
// are read at the question.
//
// Secrets are redacted before a text leaves for the model. Hidden files are in no [Tree],
// so they have no vectors, and are not found by those of a file with the same content.
//
//	index.go   Index, the trees, and a question
//	build.go   making vectors, in the background or at the question
//	chunk.go   files become chunks
//	vector.go  vectors in eight bits, and their stored form
//	nearest.go comparing them
//	words.go   chunks that have the words of a question
//	lull.go    waiting while a conversation streams
package index

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // git's ids
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/llm"
)

// Vectors keeps the vectors of files. maker identifies the model and the form of chunks,
// blob the content. It is safe for concurrent use.
type Vectors interface {
	// Vectors returns the stored ones of blobs, by blob.
	Vectors(ctx context.Context, maker string, blobs []string) (map[string][]byte, error)
	// PutVectors stores those of one blob. What is stored already stays.
	PutVectors(ctx context.Context, maker, blob string, data []byte) error
}

// Config configures an [Index]. Wait, Told and Log may be nil. Without Redact, [New] panics:
// no text is sent unredacted by an oversight.
type Config struct {
	Embedder llm.Embedder
	Vectors  Vectors
	Redact   func(string) string
	Wait     func(context.Context) error // until the model has time
	Told     func(Progress)              // receives progress, from one goroutine
	Log      *slog.Logger
}

// Index answers questions about trees. It is safe for concurrent use.
type Index struct {
	cfg   Config
	about *maker // nil until the model was asked
	mu    sync.Mutex
	blobs map[string]*blob // by maker and content
	bytes int              // of blobs
	state map[string]Progress
	queue []Tree
	more  chan struct{}
	stop  context.CancelFunc
	done  chan struct{}
}

// maker is the model, as its vectors depend on it.
type maker struct {
	key  string
	dim  int
	room int // bytes of a text
}

// Tree is the files of a commit that a session may see. Read returns the content of one.
type Tree struct {
	Repo  string
	Files []File
	Read  func(ctx context.Context, path string) ([]byte, error)
}

// File is one file of a tree. Blob is git's id of its content.
type File struct{ Path, Blob string }

// Progress is how far the vectors of a repository's newest tree are, in files. Skipped
// counts chunks that the model did not take. Trouble is the reason of a pause, "" if there
// is none.
type Progress struct {
	Repo    string `json:"repo"`
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Skipped int    `json:"skipped,omitempty"`
	Trouble string `json:"trouble,omitempty"`
}

// String returns the progress as a sentence without its end.
func (p Progress) String() string {
	s := fmt.Sprintf("%s: %d of %d files", p.Repo, p.Done, p.Total)
	if p.Skipped > 0 {
		s += fmt.Sprintf(", %d chunks skipped", p.Skipped)
	}
	if p.Trouble != "" {
		s += ", waiting: " + p.Trouble
	}
	return s
}

// New returns an index, and begins its background work, which Close ends.
func New(cfg Config) *Index {
	if cfg.Redact == nil {
		panic("index: no Redact")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Wait == nil {
		cfg.Wait = func(context.Context) error { return nil }
	}
	ctx, stop := context.WithCancel(context.Background())
	x := &Index{
		cfg: cfg, blobs: map[string]*blob{}, state: map[string]Progress{},
		more: make(chan struct{}, 1), stop: stop, done: make(chan struct{}),
	}
	go x.run(ctx)
	return x
}

// Close ends the background work and waits for it.
func (x *Index) Close() {
	if x != nil {
		x.stop()
		<-x.done
	}
}

// Progress returns the progress of all repositories since the start, by name.
func (x *Index) Progress() []Progress {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]Progress, 0, len(x.state))
	for _, p := range x.state {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Progress) int { return cmp.Compare(a.Repo, b.Repo) })
	return out
}

// View is a tree as one session has it. A nil Changed means no changes.
type View struct {
	Index   *Index
	Tree    Tree
	Changed func(ctx context.Context) (Changes, error)
}

// Changes are the paths that a session has changed or deleted, with the content of those
// that it may see and nil for the others. Left is the number of files that are too many to
// be read; their content is nil.
type Changes struct {
	Files map[string][]byte
	Left  int
}

// Question asks for at most Max chunks below a directory, "" or "." for all.
type Question struct {
	Text  string
	Under string
	Max   int
}

// Hit is a chunk that answers a question. Near is 1 for the same meaning and 0 for none; 0
// also for a chunk that only its words have found.
type Hit struct {
	Path     string
	From, To int
	Near     float32
}

// Answer is the answer to a [Question], best first. Of Files below the directory, Ready
// have vectors. Late is the number of changed files that were not looked into.
type Answer struct {
	Hits         []Hit
	Ready, Files int
	Late         int
}

// maxLate is the maximum number of chunks of changed files that get vectors at a question.
const maxLate = 200

// Ask answers a question by meaning alone.
func (v *View) Ask(ctx context.Context, q Question) (Answer, error) {
	x := v.Index
	about, err := x.maker(ctx)
	if err != nil {
		return Answer{}, err
	}
	files := slices.DeleteFunc(slices.Clone(v.Tree.Files), func(f File) bool { return !isBelow(f.Path, q.Under) })
	var out Answer
	var changed Changes
	if v.Changed != nil {
		if changed, err = v.Changed(ctx); err != nil {
			return out, err
		}
		files = slices.DeleteFunc(files, func(f File) bool { _, ok := changed.Files[f.Path]; return ok })
	}
	late, left, err := x.embedLate(ctx, about, changed.Files, q.Under)
	if err != nil {
		return out, err
	}
	out.Late, out.Files = left+changed.Left, len(files)
	found, err := x.load(ctx, about, files)
	if err != nil {
		return out, err
	}
	var at []string // paths of blobs
	var blobs []*blob
	for _, f := range files {
		if b := found[f.Blob]; b != nil {
			at, blobs = append(at, f.Path), append(blobs, b)
			out.Ready++
		}
	}
	for _, f := range late {
		at, blobs = append(at, f.path), append(blobs, f.blob)
	}
	if len(blobs) == 0 {
		return out, nil
	}
	vectors, err := x.embed(ctx, []string{about.cut(prefixes(x.cfg.Embedder.Name()).question + x.cfg.Redact(q.Text))}) //control:question-redacted
	if err != nil {
		return out, err
	}
	seen := map[*blob]bool{}
	for _, n := range nearest(quantize(vectors[0]), blobs, 3*q.Max) {
		b := blobs[n.blob]
		if first := slices.Index(blobs, b); first != n.blob && seen[b] {
			continue // the same content at another path
		}
		seen[b] = true
		out.Hits = append(out.Hits, Hit{at[n.blob], b.spans[n.chunk].from, b.spans[n.chunk].to, n.near})
	}
	out.Hits = out.Hits[:min(len(out.Hits), q.Max)]
	return out, nil
}

// isBelow reports whether a path is in a directory, or is it.
func isBelow(name, dir string) bool {
	return dir == "" || dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// maker asks the model for its digest, its limit and the length of its vectors, once.
func (x *Index) maker(ctx context.Context) (maker, error) {
	x.mu.Lock()
	known := x.about
	x.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	about, err := x.cfg.Embedder.Embedding(ctx)
	if err != nil {
		return maker{}, err
	}
	vectors, err := x.embed(ctx, []string{"func main()"})
	if err != nil {
		return maker{}, err
	}
	p := prefixes(x.cfg.Embedder.Name())
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %q %d", version, about.Digest, p.question, p.text, len(vectors[0])))
	m := &maker{key: fmt.Sprintf("%x", sum[:12]), dim: len(vectors[0]), room: maxChunkText}
	if about.Tokens > 0 {
		m.room = min(m.room, max(3*about.Tokens, 200)) // a token of code has about three bytes
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.about = m
	return *m, nil
}

// cut returns the beginning of a text for which the model has room.
func (m maker) cut(text string) string {
	if len(text) > m.room {
		text = strings.ToValidUTF8(text[:m.room], "")
	}
	return text
}

// embed asks the model for vectors.
func (x *Index) embed(ctx context.Context, texts []string) ([][]float32, error) {
	out, err := x.cfg.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	return out, nil
}

// prefix is the words that a family of models expects before a text.
type prefix struct{ question, text string }

// prefixes returns those of a model, by its name.
func prefixes(model string) prefix {
	model = strings.ToLower(model)
	for _, f := range []struct {
		part string
		prefix
	}{
		{"nomic-embed", prefix{"search_query: ", "search_document: "}},
		{"qwen3-embedding", prefix{"Instruct: Given a question about a program, find the code that answers it\nQuery:", ""}},
		{"embeddinggemma", prefix{"task: code retrieval | query: ", "title: none | text: "}},
		{"mxbai-embed", prefix{"Represent this sentence for searching relevant passages: ", ""}},
		{"e5-", prefix{"query: ", "passage: "}},
	} {
		if strings.Contains(model, f.part) {
			return f.prefix
		}
	}
	return prefix{}
}

// maxLoaded is the maximum memory of loaded vectors in bytes.
const maxLoaded = 256 << 20

// maxRows is the maximum number of blobs to read from the store at once.
const maxRows = 400

// load returns the vectors of files by blob, from memory or the store. Without any there is
// no entry.
func (x *Index) load(ctx context.Context, m maker, files []File) (map[string]*blob, error) {
	out := map[string]*blob{}
	var missing []string
	x.mu.Lock()
	for _, f := range files {
		if b := x.blobs[m.key+f.Blob]; b != nil {
			out[f.Blob] = b
		} else {
			missing = append(missing, f.Blob)
		}
	}
	x.mu.Unlock()
	slices.Sort(missing)
	for part := range slices.Chunk(slices.Compact(missing), maxRows) {
		rows, err := x.cfg.Vectors.Vectors(ctx, m.key, part)
		if err != nil {
			return nil, fmt.Errorf("read vectors: %w", err)
		}
		for id, data := range rows {
			b, err := parseBlob(data, m.dim)
			if err != nil {
				x.cfg.Log.WarnContext(ctx, "vectors are not used", "blob", id, "err", err)
				continue
			}
			out[id] = b
			x.keep(m, id, b)
		}
	}
	return out, nil
}

// keep keeps vectors in memory. Others leave if there are too many.
func (x *Index) keep(m maker, id string, b *blob) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := m.key + id
	if old := x.blobs[key]; old != nil {
		x.bytes -= old.size()
	}
	x.blobs[key] = b
	x.bytes += b.size()
	for other, o := range x.blobs {
		if x.bytes <= maxLoaded {
			break
		}
		if other != key {
			x.bytes -= o.size()
			delete(x.blobs, other)
		}
	}
}

// blobOf returns git's id of a content.
func blobOf(text []byte) string {
	h := sha1.New() //nolint:gosec // as git has it
	fmt.Fprintf(h, "blob %d\x00", len(text))
	h.Write(text)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Public returns why vectors are not available, for the model and users.
func Public(err error) string {
	var known *llm.Error
	if errors.As(err, &known) {
		return known.Public
	}
	return "the index cannot be read"
}
