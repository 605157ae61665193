package gitops

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

func files(list map[string]string) func(string) attributesFile {
	return func(dir string) attributesFile { return parseAttributes(list[path.Join(dir, attributesName)]) }
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
		of := attributesOwner{}.Of(name, in)
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
	longtest.Leave(t)
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
				list[path.Join(at, attributesName)] = randomFile(r)
			}
		}
		made := map[string]change{}
		for len(made) < 12 {
			made[path.Join(pick(r, "", "d", "d/e", "x/d"), pick(r, "a.txt", "b.c", "c.bin", "UP.TXT", "[x].c", "a b.txt"))] = change{randomContent(r), randomContent(r)}
		}
		above, below, crlf := "", "", pick(r, "false", "true", "input")
		if r.IntN(3) == 0 {
			above, below = randomFile(r), randomFile(r)
		}
		o := attributesOwner{Above: parseAttributes(above), Below: parseAttributes(below), Auto: crlf != "false"}
		list[".git/info/attributes"], list[".git/below"] = above, below
		for name, want := range added(t, dir, crlf, list, made) {
			data := made[name].after
			got, err := o.Convert(o.Of(name, files(list))).Content(data, made[name].before)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("seed %d: %s with %q: %q becomes %q (%v), git has %q", seed, name, list, data, got, err, want)
			}
		}
	}
}

// change is a file as it was committed, and as it is in the work tree.
type change struct{ before, after []byte }

// added has git add files to the index of a new repository, which has more files, and returns
// their blobs by name. All are done by the same processes: git's start takes longer than its work.
func added(t *testing.T, dir, crlf string, more map[string]string, made map[string]change) map[string][]byte {
	t.Helper()
	runGit(t, dir, "", "init", "-q")
	for name, text := range more {
		write(t, filepath.Join(dir, name), text)
	}
	names := slices.Sorted(maps.Keys(made))
	var raw, index, asked strings.Builder
	add := []string{
		"-c", "core.autocrlf=" + crlf, "-c", "core.attributesFile=" + filepath.Join(dir, ".git", "below"),
		"-c", "core.safecrlf=false", "add", "-f", "--",
	}
	for i, name := range names {
		at := filepath.Join(dir, ".git", "raw", fmt.Sprint(i))
		write(t, at, string(made[name].before))
		write(t, filepath.Join(dir, name), string(made[name].after))
		fmt.Fprintln(&raw, at)
		fmt.Fprintf(&asked, ":%s\n", name)
		add = append(add, ":(literal)"+name)
	}
	ids := strings.Fields(string(runGit(t, dir, raw.String(), "hash-object", "-w", "--no-filters", "--stdin-paths")))
	for i, name := range names {
		fmt.Fprintf(&index, "100644 %s\t%s\n", ids[i], name)
	}
	runGit(t, dir, index.String(), "-c", "core.autocrlf=false", "update-index", "--index-info")
	runGit(t, dir, "", add...)
	out, blobs := runGit(t, dir, asked.String(), "cat-file", "--batch"), map[string][]byte{}
	for _, name := range names {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		var id, kind string
		var size int
		if _, err := fmt.Sscan(string(head), &id, &kind, &size); err != nil || kind != "blob" || size+1 > len(rest) {
			t.Fatalf("%s: git says %q: %v", name, head, err)
		}
		blobs[name], out = rest[:size], rest[size+1:]
	}
	return blobs
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

func randomFile(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(5) {
		fmt.Fprint(&b, pick(r, "*", "*.txt", "*.c", "/a.txt", "d/*.c", "d/**", "**/e/*", "[ab].*", "a?b.txt", `"a b.txt"`, "*.{c,txt}", "UP.*", "d", "d/", `\[x\].c`, "# x", "[attr]mac"))
		for range 1 + r.IntN(2) {
			fmt.Fprint(&b, " ", pick(r, "text", "-text", "!text", "text=auto", "eol=lf", "eol=crlf", "-eol", "binary", "crlf", "-crlf", "crlf=input", "mac", "!binary", "diff", "ident", "-ident"))
		}
		b.WriteString(pick(r, "\n", "\r\n", " \n"))
	}
	return b.String()
}

func randomContent(r *rand.Rand) []byte {
	var b []byte
	for range r.IntN(12) {
		b = append(b, pick(r, "word", "é", "\r\n", "\r\n", "\n", "\t", strings.Repeat("long line ", 20), "\r", "\x00", "\x01", "\x1a", "\x7f", "\x1b[0m", "$Id: x $", "$Id:", "$Id$", "$")...)
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
		got, err := conversion{Encoding: tt.encoding}.Content([]byte(tt.data), nil)
		if tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) || tt.fails == "" && (err != nil || string(got) != tt.want) {
			t.Errorf("%s %q: %q, %v", tt.encoding, tt.data, got, err)
		}
	}
}

func runGit(t *testing.T, dir, in string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(in), &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, said.String())
	}
	return out
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
