package workspacetest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/handrail-bot/handrail/agent/workspace"
)

func files(t *testing.T, s Subject) {
	var big strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&big, "line %d\n", i+1)
	}
	ws := Open(t, s, Tree{
		"a.txt": "one\ntwo\nthree\n", "crlf.txt": "one\r\ntwo", "empty.txt": "", "big.txt": big.String(),
		"long.txt": long(100_000) + "\nshort\n", "bin.dat": "abc\x00def", "sub/b.txt": "b\n", "latin.txt": "caf\xe9\n",
	})
	ctx := t.Context()
	readTests := []struct {
		name   string
		path   string
		ranges []workspace.Range
		want   workspace.File
	}{
		{
			"whole",
			"a.txt",
			nil,
			workspace.File{
				Path:   "a.txt",
				Size:   14,
				Lines:  3,
				Chunks: []workspace.Chunk{{From: 1, Lines: []string{"one", "two", "three"}}},
			},
		},
		{
			"no final newline",
			"crlf.txt",
			nil,
			workspace.File{
				Path:   "crlf.txt",
				Size:   8,
				Lines:  2,
				Chunks: []workspace.Chunk{{From: 1, Lines: []string{"one", "two"}}},
			},
		},
		{"empty", "empty.txt", nil, workspace.File{Path: "empty.txt", Chunks: []workspace.Chunk{}}},
		{"ranges out of order that touch", "big.txt", []workspace.Range{{From: 999}, {From: 2, To: 2}, {From: 3, To: 4}},
			workspace.File{Path: "big.txt", Size: int64(big.Len()), Lines: 1000, Chunks: []workspace.Chunk{
				{From: 2, Lines: []string{"line 2", "line 3", "line 4"}}, {From: 999, Lines: []string{"line 999", "line 1000"}}}}},
		{
			"range behind the end",
			"a.txt",
			[]workspace.Range{{From: 10, To: 20}},
			workspace.File{Path: "a.txt", Size: 14, Lines: 3, Chunks: []workspace.Chunk{}},
		},
		{"binary", "bin.dat", nil, workspace.File{Path: "bin.dat", Size: 7, Binary: true, Chunks: []workspace.Chunk{}}},
		{
			"not UTF-8",
			"latin.txt",
			nil,
			workspace.File{
				Path:   "latin.txt",
				Size:   5,
				Lines:  1,
				Chunks: []workspace.Chunk{{From: 1, Lines: []string{"caf\uFFFD"}}},
			},
		},
		{
			"absolute path",
			ws.Root() + "/sub/../sub/b.txt",
			nil,
			workspace.File{Path: "sub/b.txt", Size: 2, Lines: 1, Chunks: []workspace.Chunk{{From: 1, Lines: []string{"b"}}}},
		},
	}
	for _, tt := range readTests {
		t.Run("read "+tt.name, func(t *testing.T) {
			got, err := ws.Read(ctx, tt.path, tt.ranges...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("long lines are cut", func(t *testing.T) {
		f, err := ws.Read(ctx, "long.txt")
		if err != nil {
			t.Fatal(err)
		}
		if !f.Cut || f.Lines != 2 || len(f.Chunks[0].Lines[0]) > 5000 || f.Chunks[0].Lines[1] != "short" {
			t.Errorf(
				"cut %t, %d lines, first of %d bytes, second %q",
				f.Cut,
				f.Lines,
				len(f.Chunks[0].Lines[0]),
				f.Chunks[0].Lines[1],
			)
		}
	})
	writing(t, ws)
}

func writing(t *testing.T, ws *workspace.Workspace) {
	ctx := t.Context()
	data := long(3 << 20)
	for _, w := range []struct{ path, data string }{{"new/deep/file.txt", data}, {"a.txt", "changed"}, {"bytes", "\x00\xff\xfe"}} {
		if err := ws.Write(ctx, w.path, []byte(w.data)); err != nil {
			t.Fatalf("write %s: %v", w.path, err)
		}
		got, mode, err := ws.ReadAll(ctx, w.path, 0)
		if err != nil || string(got) != w.data || mode.Perm() != 0o644 {
			t.Errorf("read %s back: %d bytes of %d, mode %v, err %v", w.path, len(got), len(w.data), mode, err)
		}
	}
	if _, _, err := ws.ReadAll(ctx, "new/deep/file.txt", 1<<20); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("read 3 MiB with a limit of 1 MiB: %v, want ErrTooLarge", err)
	}
	mustRun(t, ws, "printf '#!/bin/sh\n' > tool.sh && chmod 755 tool.sh && ln -s tool.sh link.sh")
	if err := ws.Write(ctx, "link.sh", []byte("#!/bin/sh\necho hi\n")); err != nil {
		t.Fatal(err)
	}
	if got := mustRun(t, ws, "./tool.sh; ls -A | grep -c '^.handrail-' || true; readlink link.sh"); got != "hi\n0\ntool.sh\n" {
		t.Errorf("after writing through a link: %q", got)
	}
	if err := ws.Remove(ctx, "tool.sh"); err != nil {
		t.Fatal(err)
	}
	_, err := ws.Read(ctx, "tool.sh")
	if !errors.Is(err, workspace.ErrNotExist) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read a removed file: %v, want ErrNotExist", err)
	}
	if err := ws.Write(ctx, "sub", nil); !errors.Is(err, workspace.ErrNotFile) {
		t.Errorf("write to a directory: %v, want ErrNotFile", err)
	}
	if err := ws.Write(ctx, "huge", make([]byte, workspace.MaxWrite+1)); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("write more than the limit: %v, want ErrTooLarge", err)
	}
}

func paths(t *testing.T, s Subject) {
	ws := Open(t, s, Tree{
		"a.txt": "a\n", "in": "-> a.txt", "out": "-> ../../../../../../etc/passwd", "abs": "-> /etc/passwd", "up": "-> ..",
		"loop": "-> loop", "dirlink": "-> sub", "sub/b.txt": "b\n", "sub/up": "-> ../a.txt",
	})
	ctx := t.Context()
	for _, p := range []string{"in", "sub/up", "dirlink/b.txt", "./sub//b.txt"} {
		if _, err := ws.Read(ctx, p); err != nil {
			t.Errorf("read %s: %v", p, err)
		}
	}
	outside := []string{"out", "abs", "up/x", "../x", "/etc/passwd", "sub/../../x", ws.Root() + "/../x", ws.Root() + "x/y"}
	for _, p := range outside {
		if _, err := ws.Read(ctx, p); !errors.Is(err, workspace.ErrOutside) {
			t.Errorf("read %s: %v, want ErrOutside", p, err)
		}
		if _, _, err := ws.ReadAll(ctx, p, 0); !errors.Is(err, workspace.ErrOutside) {
			t.Errorf("read all of %s: %v, want ErrOutside", p, err)
		}
		if err := ws.Write(ctx, p, []byte("planted")); !errors.Is(err, workspace.ErrOutside) {
			t.Errorf("write %s: %v, want ErrOutside", p, err)
		}
	}
	for _, p := range []string{"../x", "/etc", "up"} {
		if _, err := ws.List(ctx, p, false, 0); !errors.Is(err, workspace.ErrOutside) {
			t.Errorf("list %s: %v, want ErrOutside", p, err)
		}
		if _, err := ws.Search(ctx, workspace.Query{Pattern: "x", Path: p}); !errors.Is(err, workspace.ErrOutside) {
			t.Errorf("search %s: %v, want ErrOutside", p, err)
		}
		if err := ws.Remove(ctx, p+"/y"); !errors.Is(err, workspace.ErrOutside) {
			t.Errorf("remove %s/y: %v, want ErrOutside", p, err)
		}
	}
	for _, p := range []string{"loop", "a\x00b", "a.txt/b", "missing"} {
		if _, err := ws.Read(ctx, p); err == nil {
			t.Errorf("read %q: no error", p)
		}
	}
}

func bombs(t *testing.T, s Subject) {
	ws := Open(t, s, Tree{"a.txt": "needle\n"})
	ctx := t.Context()
	mustRun(
		t,
		ws,
		"mkfifo fifo && truncate -s 1T sparse && { echo text; head -c 9000 /dev/zero | tr '\\0' x; echo; } > head && truncate -s 1T head",
	)
	began := time.Now()
	if _, err := ws.Read(ctx, "fifo"); !errors.Is(err, workspace.ErrNotFile) {
		t.Errorf("read a fifo: %v, want ErrNotFile", err)
	}
	if err := ws.Write(ctx, "fifo", []byte("x")); !errors.Is(err, workspace.ErrNotFile) {
		t.Errorf("write a fifo: %v, want ErrNotFile", err)
	}
	if _, err := ws.Content(ctx, "fifo"); !errors.Is(err, workspace.ErrNotFile) {
		t.Errorf("content of a fifo: %v, want ErrNotFile", err)
	}
	if f, err := ws.Read(ctx, "sparse"); err != nil || !f.Binary || f.Size != 1<<40 {
		t.Errorf("read a sparse file: %+v, %v", f, err)
	}
	if f, err := ws.Read(ctx, "head", workspace.Range{From: 1, To: 1}); err != nil || !f.Cut ||
		f.Chunks[0].Lines[0] != "text" {
		t.Errorf("read the head of a sparse file: %v, %d lines, %v", f.Cut, f.Lines, err)
	}
	if _, _, err := ws.ReadAll(ctx, "sparse", 0); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("read all of a sparse file: %v, want ErrTooLarge", err)
	}
	m, err := ws.Search(ctx, workspace.Query{Pattern: "needle"})
	if err != nil || len(m.Files) != 1 {
		t.Errorf("search beside bombs: %+v, %v", m, err)
	}
	cs, err := ws.Changes(ctx)
	if err != nil || len(cs) != 3 || cs[0].Path != "fifo" || cs[0].Why != "a named pipe" || cs[1].Why+cs[2].Why != "" {
		t.Errorf("changes beside bombs: %+v, %v; want head and sparse, and the fifo as what cannot be kept", cs, err)
	}
	if d := time.Since(began); d > 2*time.Minute {
		t.Errorf("bombs took %s", d)
	}
}
