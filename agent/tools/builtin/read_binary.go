package builtin

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/workspace"
)

// Limits for files that are not text.
const (
	maxImage    = 5 << 20  // bytes of one picture
	maxImages   = 10 << 20 // bytes of all pictures in one call
	maxDocument = 16 << 20 // bytes of a DOCX file
	maxUnzipped = 64 << 20 // bytes of its text part
	maxText     = 4 << 20  // bytes of the text of a document
	pdfTime     = time.Minute
)

// binary shows the readable content of a file that is not text.
func (r reader) binary(ctx context.Context, w request, f workspace.File, o *output) error {
	p := w.path
	switch strings.ToLower(path.Ext(p)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp":
		return r.image(ctx, p, f, o)
	case ".pdf":
		return r.document(ctx, w, f, o, r.pdfText)
	case ".docx":
		return r.document(ctx, w, f, o, r.docxText)
	}
	if text, err := r.utf16Text(ctx, p); err == nil {
		return r.document(ctx, w, f, o, func(context.Context, string) (string, error) { return text, nil })
	} else if !errors.Is(err, errNotText) && !errors.Is(err, workspace.ErrTooLarge) {
		return err
	}
	if done, err := r.showDecoded(ctx, w, f, o); done || err != nil {
		return err
	}
	fmt.Fprintf(&o.b, "File: %s\n[binary file, %d bytes: not shown]\n", f.Path, f.Size)
	return nil
}

func (r reader) image(ctx context.Context, p string, f workspace.File, o *output) error {
	if f.Size > maxImage || int(f.Size) > o.images {
		fmt.Fprintf(
			&o.b,
			"File: %s\n[image, %d bytes: too large to attach; one may have %d bytes, all of a call together %d]\n",
			f.Path,
			f.Size,
			maxImage,
			maxImages,
		)
		return nil
	}
	data, _, err := r.Files.ReadAll(ctx, p, maxImage)
	if err != nil {
		return err
	}
	kind := http.DetectContentType(data)
	if !strings.HasPrefix(kind, "image/") {
		fmt.Fprintf(&o.b, "File: %s\n[%d bytes, named like an image but none: not shown]\n", f.Path, f.Size)
		return nil
	}
	o.images -= len(data)
	o.blobs = append(o.blobs, session.Blob{Name: f.Path, Type: kind, Data: data})
	fmt.Fprintf(&o.b, "File: %s\n[%s, %d bytes: attached]\n", f.Path, kind, len(data))
	return nil
}

// document shows the text of a document as if it were a file.
func (r reader) document(
	ctx context.Context,
	w request,
	f workspace.File,
	o *output,
	extract func(context.Context, string) (string, error),
) error {
	text, err := extract(ctx, w.path)
	if errors.Is(err, workspace.ErrGone) || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if err != nil {
		fmt.Fprintf(&o.b, "File: %s\n[binary file, %d bytes: its text cannot be read: %v]\n", f.Path, f.Size, err)
		return nil
	}
	text = strings.TrimRight(strings.ToValidUTF8(text, "\uFFFD"), "\n\f ")
	if text == "" {
		fmt.Fprintf(&o.b, "File: %s\n[no text in it: perhaps scanned pages]\n", f.Path)
		return nil
	}
	more := ""
	if len(text) > maxText {
		text, more = strings.ToValidUTF8(text[:maxText], ""), fmt.Sprintf("of a document %d bytes of text are read", maxText)
	}
	lines := strings.Split(text, "\n")
	read := func(r workspace.Range) (workspace.File, error) {
		doc := workspace.File{Path: f.Path + ", as text", Lines: len(lines), More: more}
		if from := min(r.From, len(lines)+1); from > 0 {
			doc.Chunks = []workspace.Chunk{{From: from, Lines: slices.Clone(lines[from-1 : max(from-1, min(r.To, len(lines)))])}}
		}
		if r.Column > 1 && len(doc.Chunks[0].Lines) > 0 {
			line := []rune(doc.Chunks[0].Lines[0])
			doc.Chunks[0].Lines[0] = string(line[min(len(line), r.Column-1):])
		}
		return doc, nil
	}
	got, err := read(w.first())
	if err != nil {
		return err
	}
	from, to, err := w.show(got, o, read)
	if err == nil && from > 0 {
		fmt.Fprintf(&o.b, "[cut: lines %d-%d are not shown; ask for them by lines]\n", from, to)
	}
	return err
}

// pdfText runs pdftotext inside the workspace.
func (r reader) pdfText(ctx context.Context, p string) (string, error) {
	if r.Start == nil {
		return "", errors.New("there is no pdftotext here")
	}
	within, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	prog, err := r.Start.Start(ctx, workspace.Program{Argv: []string{"pdftotext", "-layout", "-q", "./" + p, "-"}})
	if err != nil {
		if errors.Is(err, workspace.ErrGone) {
			return "", err
		}
		return "", errors.New("pdftotext (poppler-utils) is not installed in the workspace")
	}
	defer prog.Close()
	stop := context.AfterFunc(within, func() { prog.Close() })
	defer stop()
	text, err := io.ReadAll(io.LimitReader(prog, maxText+1))
	if within.Err() != nil && ctx.Err() == nil {
		return "", fmt.Errorf("pdftotext was not done after %s", pdfTime)
	}
	if err != nil && len(text) == 0 {
		return "", fmt.Errorf("pdftotext: %w", err)
	}
	return string(text), nil
}

// errNotText means that a file has no text to show.
var errNotText = errors.New("it is no text")

// utf16Text reads a file in UTF-16 with a byte order mark, as Windows writes it.
func (r reader) utf16Text(ctx context.Context, p string) (string, error) {
	data, _, err := r.Files.ReadAll(ctx, p, maxDocument)
	if err != nil {
		return "", err
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte("\xFE\xFF")):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte("\xFF\xFE")):
		return "", errNotText
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	text := string(utf16.Decode(units))
	if strings.ContainsRune(text, 0) {
		return "", errNotText
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), nil
}

// docxText reads the paragraphs of a Word document.
func (r reader) docxText(ctx context.Context, p string) (string, error) {
	data, _, err := r.Files.ReadAll(ctx, p, maxDocument)
	if err != nil {
		return "", err
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", err
	}
	for _, f := range z.File {
		if f.Name != "word/document.xml" {
			continue
		}
		part, err := f.Open()
		if err != nil {
			return "", err
		}
		defer part.Close()
		return wordText(io.LimitReader(part, maxUnzipped))
	}
	return "", errors.New("it is no Word document")
}

// wordText returns the text of WordprocessingML: a line for each paragraph and
// table row, with tabs between cells.
func wordText(in io.Reader) (string, error) {
	d := xml.NewDecoder(in)
	var b strings.Builder
	inText, cell := false, 0
	for b.Len() <= maxText {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "t":
				inText = true
			case "tab":
				b.WriteByte('\t')
			case "br", "cr":
				b.WriteByte('\n')
			case "tc":
				cell++
			}
		case xml.EndElement:
			switch {
			case t.Name.Local == "t":
				inText = false
			case t.Name.Local == "tc":
				cell--
				b.WriteByte('\t')
			case t.Name.Local == "p" && cell == 0, t.Name.Local == "tr":
				b.WriteByte('\n')
			case t.Name.Local == "p":
				b.WriteByte(' ')
			}
		case xml.CharData:
			if inText {
				b.Write(t)
			}
		}
	}
	return b.String(), nil
}
