package attributes

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

func files(list map[string]string) func(string) File {
	return func(dir string) File { return Parse(list[path.Join(dir, Name)]) }
}

func TestOf(t *testing.T) {
	in := files(map[string]string{
		".gitattributes":     "*.png filter=lfs diff=lfs merge=lfs -text\n/top.txt text\n[attr]pic binary filter=lfs\n*.ico pic\na/**/z.* eol=lf\n\"sp ace.*\" text\n!no text\ndir/ text\n",
		"sub/.gitattributes": "\uFEFF# of sub\n*.png !filter\n*.txt text=auto\n",
	})
	for name, want := range map[string]string{
		"a.png": "filter=lfs text=unset", "deep/b.png": "filter=lfs text=unset", "top.txt": "text=set", "x/top.txt": "",
		"i.ico": "filter=lfs text=unset", "a/b/c/z.c": "eol=lf", "a/z.c": "eol=lf", "sp ace.txt": "text=set", "no": "", "dir/x": "",
		"sub/a.png": "text=unset", "sub/x/a.txt": "text=auto",
	} {
		of := Of(name, in)
		var got []string
		for _, key := range []string{"filter", "text", "eol"} {
			switch v := of[key]; v {
			case "":
			case set, unset:
				got = append(got, key+"="+string(v[1:]))
			default:
				got = append(got, key+"="+string(v))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %v, want %s", name, got, want)
		}
	}
}

// TestAsGit: random attributes and contents are committed byte for byte as git does it.
func TestAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NEEDS GIT")
	}
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(7, uint64(seed)))
		dir := t.TempDir()
		list := map[string]string{}
		for _, at := range []string{"", "d", "d/e"} {
			if at == "" || r.IntN(2) == 0 {
				list[path.Join(at, Name)] = randomFile(r)
			}
		}
		git(t, dir, "init", "-q")
		for name, text := range list {
			write(t, filepath.Join(dir, name), text)
		}
		for i := range 12 {
			name := path.Join(pick(r, "", "d", "d/e", "x/d"), pick(r, "a.txt", "b.c", "c.bin", "UP.TXT", "[x].c", "a b.txt"))
			before, data := randomContent(r), randomContent(r)
			write(t, filepath.Join(dir, name), string(before))
			git(t, dir, "-c", "core.autocrlf=false", "update-index", "--add", "--cacheinfo", "100644,"+object(t, dir, before)+","+name)
			write(t, filepath.Join(dir, name), string(data))
			git(t, dir, "-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "add", "-f", "--", ":(literal)"+name)
			want := git(t, dir, "cat-file", "blob", ":"+name)
			got, err := Convert(Of(name, files(list))).Content(data, before)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("seed %d, file %d: %s with %q: %q becomes %q (%v), git has %q", seed, i, name, list, data, got, err, want)
			}
		}
	}
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

func randomFile(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(5) {
		fmt.Fprint(&b, pick(r, "*", "*.txt", "*.c", "/a.txt", "d/*.c", "d/**", "**/e/*", "[ab].*", "a?b.txt", `"a b.txt"`, "*.{c,txt}", "UP.*", "d", "d/", `\[x\].c`, "# x", "[attr]mac"))
		for range 1 + r.IntN(2) {
			fmt.Fprint(&b, " ", pick(r, "text", "-text", "!text", "text=auto", "eol=lf", "eol=crlf", "-eol", "binary", "crlf", "-crlf", "crlf=input", "mac", "!binary", "diff"))
		}
		b.WriteString(pick(r, "\n", "\r\n", " \n"))
	}
	return b.String()
}

func randomContent(r *rand.Rand) []byte {
	var b []byte
	for range r.IntN(12) {
		b = append(b, pick(r, "word", "é", "\r\n", "\r\n", "\n", "\t", strings.Repeat("long line ", 20), "\r", "\x00", "\x01", "\x1a", "\x7f", "\x1b[0m")...)
	}
	if r.IntN(3) > 0 { // most files are texts
		b = bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\x00"), nil), []byte("\x01"), nil)
	}
	return b
}

// TestEncodings: a file that a command wrote as it is in a work tree is committed as UTF-8;
// one that a tool wrote from what it was shown already is.
func TestEncodings(t *testing.T) {
	for _, tt := range []struct{ encoding, data, want, fails string }{
		{"UTF-16LE-BOM", "\xff\xfeh\x00\xe9\x00\n\x00", "hé\n", ""},
		{"UTF-16", "\xfe\xff\x00h\x00\n", "h\n", ""},
		{"UTF-16", "h\x00\n\x00", "", "and it is not"},
		{"UTF-16", "hé\n", "hé\n", ""},
		{"ISO-8859-1", "\xe9t\xe9\r\n", "été\r\n", ""},
		{"SHIFT-JIS", "\x93\xfa\n", "日\n", ""},
		{"EBCDIC-OF-OLD", "\xff\n", "", "not known here"},
	} {
		got, err := Conversion{Encoding: tt.encoding}.Content([]byte(tt.data), nil)
		if tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) || tt.fails == "" && (err != nil || string(got) != tt.want) {
			t.Errorf("%s %q: %q, %v", tt.encoding, tt.data, got, err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, said.String())
	}
	return out
}

// object stores a blob as it is.
func object(t *testing.T, dir string, data []byte) string {
	t.Helper()
	write(t, filepath.Join(dir, ".git", "raw"), string(data))
	return strings.TrimSpace(string(git(t, dir, "hash-object", "-w", "--no-filters", filepath.Join(dir, ".git", "raw"))))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
