package builtin_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/policy"
)

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestReadFile(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": "one\n\ttwo\n", "empty.txt": "", "crlf.txt": "x\r\ny"})
	action, res := b.Do("read_file", toolstest.Arguments("path", "a.txt"))
	if action.Kind != policy.Read || !cmp.Equal(action.Paths, []string{"a.txt"}) {
		t.Errorf("intent is %+v", action)
	}
	if want := "File: a.txt (2 lines)\n1 | one\n2 | \ttwo\n"; res.Content != want {
		t.Errorf("got %q, want %q", res.Content, want)
	}
	_, res = b.Do("read_file", toolstest.Arguments("path", "empty.txt"))
	toolstest.Contains(t, res.Content, "(empty file)")
	_, res = b.Do("read_file", toolstest.Arguments("path", "crlf.txt"))
	toolstest.Contains(t, res.Content, "1 | x\n2 | y\n")
}

func TestReadFileShapes(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"a.txt": numbered(30), "b.txt": "bee\n"})
	const lines = "lines 3-5 of 30)\n3 | line 3\n4 | line 4\n5 | line 5\n"
	for name, args := range map[string]string{
		"path and lines":    `{"path":"a.txt","lines":"3-5"}`,
		"file, line_range":  `{"file":"a.txt","line_range":"3-5"}`,
		"filePath, numbers": `{"filePath":"a.txt","start_line":3,"end_line":5}`,
		"numbers in quotes": `{"file_path":"a.txt","start_line":"3","end_line":"5"}`,
		"camel case":        `{"filePath":"a.txt","startLine":3,"endLine":5}`,
		"offset and limit":  `{"path":"a.txt","offset":3,"limit":3}`,
		"pair":              `{"path":"a.txt","view_range":[3,5]}`,
		"pair in a string":  `{"path":"a.txt","range":"[3, 5]"}`,
		"object":            `{"path":"a.txt","lines":{"start":3,"end":5}}`,
		"list of ranges":    `{"path":"a.txt","line_ranges":["3-5"]}`,
		"files":             `{"files":[{"path":"a.txt","lines":"3-5"}]}`,
		"files in a string": `{"files":"[{\"path\":\"a.txt\",\"line_range\":\"3-5\"}]"}`,
		"args.file":         `{"args":{"file":[{"path":"a.txt","line_range":["3-5"]}]}}`,
		"args.file, single": `{"args":{"file":{"path":"a.txt","line_range":"3-5"}}}`,
		"file as an object": `{"file":{"path":"a.txt","line_range":"3-5"}}`,
		"xml":               `{"args":"<file><path>a.txt</path><line_range>3-5</line_range></file>"}`,
		"suffix":            `{"path":"a.txt:3-5"}`,
		"permalink suffix":  `{"path":"a.txt#L3-L5"}`,
		"wrapped twice":     `{"arguments":"{\"path\":\"a.txt\",\"lines\":\"3-5\"}"}`,
		"with a reason":     `{"path":"a.txt","lines":"L3–L5","explanation":"to see"}`,
	} {
		t.Run(name, func(t *testing.T) {
			action, res := b.Do("read_file", args)
			toolstest.Contains(t, res.Content, lines)
			if !cmp.Equal(action.Paths, []string{"a.txt"}) {
				t.Errorf("paths are %q", action.Paths)
			}
		})
	}
	_, res := b.Do("read_file", `{"path":"a.txt","lines":"1-2, 29-"}`)
	toolstest.Contains(t, res.Content, "(lines 1-2, 29-30 of 30)\n1 | line 1\n2 | line 2\n29 | line 29\n30 | line 30\n")
	for _, args := range []string{`{"path":["a.txt","b.txt"]}`, `{"paths":["a.txt","b.txt"]}`, `{"files":["a.txt",{"path":"b.txt"}]}`, `{"path":"a.txt\nb.txt"}`, `{"path":"a.txt","files":["a.txt","b.txt"]}`, `{"path":"","files":["a.txt","b.txt"]}`} {
		action, res := b.Do("read_file", args)
		toolstest.Contains(t, res.Content, "File: a.txt (30 lines)\n1 | line 1\n", "File: b.txt (1 line)\n1 | bee\n")
		if !cmp.Equal(action.Paths, []string{"a.txt", "b.txt"}) {
			t.Errorf("paths are %q", action.Paths)
		}
	}
}

func TestReadFileFails(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"src/app.go": "a\n", ".agentignore": "secret*\n", "secret.txt": "s\n"})
	b.Fails("read_file", `{}`, `missing argument "path"`, `A correct call: {"name":"read_file","arguments":{"path":`)
	b.Fails("read_file", `{"path":"app.py"}`, "not exist", "did you mean src/app.go")
	b.Fails("read_file", `{"path":"src"}`, "directory", "list_files")
	b.Fails("read_file", `{"path":"secret.txt"}`, "agentignore", "go on without it")
	b.Fails("read_file", `{"path":"src/app.go","lines":"x-y"}`, "no range of lines")
	b.Fails("read_file", `{"path":"src/app.go","start_line":9,"end_line":3}`, "first comes after the last")
	b.Fails("read_file", `{"path":"src/app.go","colour":"red"}`, `unknown argument "colour"`, "; the arguments are path, ")
	b.Fails("read_file", `{"pth":"src/app.go"}`, `unknown argument "pth" (did you mean "path"?)`)
	b.Fails("read_file", `{"path":"src/app.go","startline2":3}`, `did you mean "start_line"?`)
	b.Do("read_file", `{"path":"src/app.go","encoding":null,"binary":false,"tags":[],"skip":0,"as":""}`) // they ask for nothing
	b.Fails("read_file", `{"files":["1","2","3","4","5","6"]}`, "6 files", "at most 5")
	_, res := b.Do("read_file", `{"files":["src/app.go","nope.go"]}`)
	toolstest.Contains(t, res.Content, "1 | a\n", "File: nope.go\n[not read:", "not exist")
	if !res.Mistake {
		t.Error("a file that is not there is no mistake")
	}
	_, res = b.Do("read_file", `{"path":"src/app.go","lines":"5-9"}`)
	toolstest.Contains(t, res.Content, "line 5 is beyond the end: the file has 1 lines")
}

func TestReadFileLimits(t *testing.T) {
	b := toolstest.Open(t, map[string]string{"long.txt": numbered(5000), "wide.txt": strings.Repeat("w", 9000) + "\nend\n", "much.txt": strings.Repeat(strings.Repeat("m", 1000)+"\n", 500)})
	var progress []string
	res, err := b.Tool("read_file").Run(t.Context(), toolstest.Call("read_file", `{"path":"long.txt"}`), func(s string) { progress = append(progress, s) })
	if err != nil {
		t.Fatal(err)
	}
	toolstest.Contains(t, res.Content, "(5000 lines)", "\n2000 | line 2000\n", "[cut: lines 2001-5000 are not shown")
	if len(progress) != 20 || progress[1] != "Reading long.txt, lines 101–200" {
		t.Errorf("progress is %q", progress)
	}
	_, res = b.Do("read_file", `{"path":"wide.txt"}`)
	toolstest.Contains(t, res.Content, "w… [line cut: for more, \"lines\": \"1\", \"column\": 2001]\n2 | end\n")
	if len(res.Content) > 2200 {
		t.Errorf("a long line is shown with %d bytes", len(res.Content))
	}
	_, res = b.Do("read_file", `{"path":"much.txt"}`)
	toolstest.Contains(t, res.Content, "[cut: lines ")
	if len(res.Content) > 125<<10 {
		t.Errorf("%d bytes are shown", len(res.Content))
	}
	_, res = b.Do("read_file", `{"path":"long.txt","lines":"4999-9999"}`)
	toolstest.Contains(t, res.Content, "(lines 4999-5000 of 5000)\n4999 | line 4999\n5000 | line 5000\n")
}

// TestLongLine: a line of any length can be read to its end, a piece at a time, and the
// pieces are the line.
func TestLongLine(t *testing.T) {
	long := strings.Repeat("grüße, 世界! ", 2000) + strings.Repeat("x", 70_000) + "end"
	b := toolstest.Open(t, map[string]string{"a.txt": "one\n" + long + "\nthree\n"})
	more := regexp.MustCompile(`… \[line cut: for more, ("lines": "2", "column": \d+)\]\n$`)
	var got strings.Builder
	args := `"lines":"2"`
	for range 1000 {
		_, res := b.Do("read_file", `{"path":"a.txt",`+args+`}`)
		_, text, _ := strings.Cut(res.Content, "\n2 | ")
		m := more.FindStringSubmatch(text)
		if m == nil {
			got.WriteString(strings.TrimSuffix(text, "\n"))
			break
		}
		got.WriteString(strings.TrimSuffix(text, m[0]))
		args = m[1]
	}
	if got.String() != long {
		t.Errorf("the pieces have %d bytes, the line %d", got.Len(), len(long))
	}
	_, res := b.Do("read_file", `{"path":"a.txt","lines":"3","column":7}`)
	toolstest.Contains(t, res.Content, "3 | [the line ends before column 7]")
	_, res = b.Do("read_file", `{"path":"a.txt","lines":"3","column":3}`)
	toolstest.Contains(t, res.Content, "3 | ree\n")
	b.Fails("read_file", `{"path":"a.txt","lines":"1-3","column":7}`, "single line")
	b.Fails("read_file", `{"path":"a.txt","column":7}`, "single line")
}

const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestReadBinary(t *testing.T) {
	png, err := base64.StdEncoding.DecodeString(onePixel)
	if err != nil {
		t.Fatal(err)
	}
	var docx bytes.Buffer
	z := zip.NewWriter(&docx)
	w, err := z.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, `<w:document xmlns:w="x"><w:body><w:p><w:r><w:t>Hello </w:t></w:r><w:r><w:t>world</w:t></w:r></w:p>`+
		`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>`)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	b := toolstest.Open(t, map[string]string{"p.png": string(png), "fake.png": "\x00\x01\x02not a picture", "a.bin": "\x00\x01", "d.docx": docx.String(),
		"bad.docx": "PK\x00", "doc.pdf": pdf("Handrail reads this"), "big.png": string(png) + strings.Repeat("\x00", 6<<20)})
	_, res := b.Do("read_file", `{"files":["p.png","fake.png","a.bin","big.png"]}`)
	toolstest.Contains(t, res.Content, "File: p.png\n[image/png, 70 bytes: attached]", "fake.png\n[16 bytes, named like an image but none", "a.bin\n[binary file, 2 bytes", "big.png\n[image, ", "too large")
	if len(res.Images) != 1 || res.Images[0].Type != "image/png" || !bytes.Equal(res.Images[0].Data, png) {
		t.Errorf("images are %+v", res.Images)
	}
	_, res = b.Do("read_file", `{"files":["d.docx","bad.docx"]}`)
	toolstest.Contains(t, res.Content, "1 | Hello world\n", "2 | a \tb \t\n", "bad.docx\n[binary file, 3 bytes: its text cannot be read")
	_, res = b.Do("read_file", `{"path":"d.docx","lines":"2"}`)
	toolstest.Contains(t, res.Content, "File: d.docx, as text (lines 2-2 of 2)\n2 | a \tb \t\n")
	_, res = b.Do("read_file", `{"path":"d.docx","lines":"1","column":7}`)
	toolstest.Contains(t, res.Content, "1 | world\n")
	_, res = b.Do("read_file", `{"path":"d.docx","lines":"9"}`)
	toolstest.Contains(t, res.Content, "line 9 is beyond the end")
	_, res = b.Do("read_file", `{"path":"doc.pdf"}`)
	if _, err := exec.LookPath("pdftotext"); err != nil {
		toolstest.Contains(t, res.Content, "pdftotext")
		t.Log("pdftotext is not installed: only its absence was checked")
	} else {
		toolstest.Contains(t, res.Content, "1 | ", "Handrail reads this")
	}
}

// What is told of how long something is, is true: of a document that is long, and of a
// text that goes on as something else.
func TestReadToTheEnd(t *testing.T) {
	var docx bytes.Buffer
	z := zip.NewWriter(&docx)
	w, err := z.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, `<w:document xmlns:w="x"><w:body>`)
	for i := range 60_000 {
		fmt.Fprintf(w, `<w:p><w:r><w:t>paragraph %d, of which there are many</w:t></w:r></w:p>`, i+1)
	}
	fmt.Fprint(w, `</w:body></w:document>`)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	b := toolstest.Open(t, map[string]string{"long.docx": docx.String(), "turns.txt": strings.Repeat("text\n", 4000) + "\x00\x01\x02\n", "plain.txt": "text\n"})
	_, res := b.Do("read_file", `{"path":"long.docx","lines":"59999-60000"}`)
	toolstest.Contains(t, res.Content, "(lines 59999-60000 of 60000)\n59999 | paragraph 59999, of which there are many\n60000 | paragraph 60000")
	_, res = b.Do("read_file", `{"path":"turns.txt","lines":"4000"}`)
	toolstest.Contains(t, res.Content, "of 4000)\n[the file goes on behind line 4000: what comes then is not text]\n4000 | text\n")
	_, res = b.Do("read_file", `{"path":"plain.txt"}`)
	if strings.Contains(res.Content, "goes on") {
		t.Errorf("all of a file is shown as %q", res.Content)
	}
}

// pdf is a document of one page that says text.
func pdf(text string) string {
	stream := "BT /F1 24 Tf 72 700 Td (" + text + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	out := "%PDF-1.4\n"
	xref := "0000000000 65535 f \n"
	for i, o := range objects {
		xref += fmt.Sprintf("%010d 00000 n \n", len(out))
		out += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return out + fmt.Sprintf("xref\n0 6\n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", xref, len(out))
}

func BenchmarkReadFile(b *testing.B) {
	w := toolstest.Open(b, map[string]string{"a.txt": numbered(1000)})
	tool := w.Tool("read_file")
	for b.Loop() {
		if _, err := tool.Run(b.Context(), toolstest.Call("read_file", `{"path":"a.txt"}`), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// UTF-16 is text; what has a byte order mark and is none is not shown.
func TestReadUTF16(t *testing.T) {
	encode := func(text string, little bool) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune("\uFEFF" + text)) {
			if little {
				b.Write([]byte{byte(u), byte(u >> 8)})
			} else {
				b.Write([]byte{byte(u >> 8), byte(u)})
			}
		}
		return b.String()
	}
	b := toolstest.Open(t, map[string]string{
		"little.txt": encode("Grüße 🙂\r\nzwei\r\n", true), "big.reg": encode("eins\nzwei\n", false),
		"none.bin": "\xFF\xFE\x01\x00\x00\x00\x02\x00", "other.bin": "a\x00b",
	})
	_, res := b.Do("read_file", `{"path":"little.txt"}`)
	toolstest.Contains(t, res.Content, "File: little.txt, as text (2 lines)\n1 | Grüße 🙂\n2 | zwei\n")
	_, res = b.Do("read_file", `{"path":"big.reg"}`)
	toolstest.Contains(t, res.Content, "1 | eins\n2 | zwei\n")
	for _, name := range []string{"none.bin", "other.bin"} {
		_, res = b.Do("read_file", `{"path":"`+name+`"}`)
		toolstest.Contains(t, res.Content, "binary file")
	}
	b.Do("search_and_replace", `{"path":"little.txt","search":"zwei","replace":"drei"}`)
	b.Is("little.txt", encode("Grüße 🙂\r\ndrei\r\n", true))
	b.Fails("search_and_replace", `{"path":"none.bin","search":"zwei","replace":"drei"}`, "binary")
}
