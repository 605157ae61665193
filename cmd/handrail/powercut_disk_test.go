package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A recorded call of the kernel that changes files, or brings them to the disk.
type fsCall struct {
	begin, end float64 // seconds since 1970
	name       string
	args       []string
	result     int64
}

var (
	straceLine = regexp.MustCompile(`^(\d+\.\d+) (\w+)\((.*)\) += (-?\d+)(<[^>]*>)?[^<]*<(\d+\.\d+)>$`)
	hexByte    = regexp.MustCompile(`\\x([0-9a-f]{2})`)
)

// straceArgs make strace record what a file system is told, with all bytes.
func straceArgs(prefix string) []string {
	return []string{"-ff", "-o", prefix, "-y", "-xx", "-s", "67108864", "--absolute-timestamps=format:unix,precision:ns", "--syscall-times=ns", "--seccomp-bpf",
		"-e", "signal=none", "-e", "trace=openat,open,creat,lseek,write,writev,pwrite64,pwritev,copy_file_range,sendfile,fallocate,ftruncate,truncate," +
			"fsync,fdatasync,sync,syncfs,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,symlink,symlinkat"}
}

// readStrace reads the recordings of all threads, those calls that succeeded, by
// the time at which they ended.
func readStrace(prefix string) ([]fsCall, error) {
	files, err := filepath.Glob(prefix + ".*")
	if err != nil {
		return nil, err
	}
	var calls []fsCall
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 512<<20)
		for lines.Scan() {
			m := straceLine.FindStringSubmatch(lines.Text())
			if m == nil || strings.HasPrefix(m[4], "-") {
				continue
			}
			c := fsCall{name: m[2]}
			c.begin, _ = strconv.ParseFloat(m[1], 64)
			took, _ := strconv.ParseFloat(m[6], 64)
			c.end = c.begin + took
			c.result, _ = strconv.ParseInt(m[4], 10, 64)
			for arg := range strings.SplitSeq(m[3], ", ") {
				c.args = append(c.args, unhex(arg))
			}
			if m[5] != "" {
				c.args = append(c.args, "fd"+unhex(m[4]+m[5]))
			}
			calls = append(calls, c)
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(calls, func(a, b fsCall) int { return cmp.Compare(a.end, b.end) })
	return calls, nil
}

func unhex(s string) string {
	return hexByte.ReplaceAllStringFunc(s, func(x string) string {
		n, _ := strconv.ParseUint(x[2:], 16, 8)
		return string([]byte{byte(n)})
	})
}

// diskNode is a file or a directory, as programs see it and as the disk has it.
type diskNode struct {
	dir        bool
	data, disk []byte
	kids, kept map[string]*diskNode
}

// disk is a file system below root that forgets, when the power goes, all that
// no program brought to it.
type disk struct {
	root  string
	top   *diskNode
	at    map[string]int64 // offsets of descriptors
	odd   []string         // calls that it does not know
	syncs int
}

func newDisk(root string) *disk {
	return &disk{root: root, top: &diskNode{dir: true, kids: map[string]*diskNode{}, kept: map[string]*diskNode{}}, at: map[string]int64{}}
}

// inside returns the path of an argument below the root: a name in quotes, that
// may be relative to the directory in the argument before it, or a descriptor.
func (d *disk) inside(dir, name string) (string, bool) {
	name = strings.Trim(name, `"`)
	if !filepath.IsAbs(name) {
		_, at, _ := strings.Cut(dir, "<")
		name = filepath.Join(strings.TrimSuffix(at, ">"), name)
	}
	rel, ok := strings.CutPrefix(filepath.Clean(name), d.root)
	rel = strings.Trim(rel, "/")
	return rel, ok && !strings.HasPrefix(rel, "work/") // workspaces are made anew
}

func (d *disk) fd(arg string) (string, bool) {
	_, at, _ := strings.Cut(arg, "<")
	return d.inside("", strings.TrimSuffix(at, ">"))
}

func (d *disk) find(rel string) (parent *diskNode, name string) {
	parts := strings.Split(rel, "/")
	parent = d.top
	for _, p := range parts[:len(parts)-1] {
		if parent = parent.kids[p]; parent == nil {
			return nil, ""
		}
	}
	return parent, parts[len(parts)-1]
}

func (d *disk) node(rel string) *diskNode {
	if rel == "" {
		return d.top
	}
	if p, name := d.find(rel); p != nil {
		return p.kids[name]
	}
	return nil
}

func (d *disk) put(rel string, n *diskNode) {
	if p, name := d.find(rel); p != nil {
		if n == nil {
			delete(p.kids, name)
		} else {
			p.kids[name] = n
		}
	}
}

// older are calls without a directory, and how they are said with one.
var older = map[string]string{"open": "openat", "mkdir": "mkdirat", "unlink": "unlinkat", "rmdir": "unlinkat", "rename": "renameat", "link": "linkat"}

// does takes in a call.
func (d *disk) does(c fsCall) {
	if name, ok := older[c.name]; ok {
		args := append([]string{"<" + d.root + ">"}, c.args...)
		if c.name == "rename" || c.name == "link" {
			args = slices.Insert(args, 2, args[0])
		}
		c.name, c.args = name, args
	}
	switch c.name {
	case "openat":
		d.opens(c)
	case "mkdirat":
		if rel, ok := d.inside(c.args[0], c.args[1]); ok {
			d.put(rel, &diskNode{dir: true, kids: map[string]*diskNode{}, kept: map[string]*diskNode{}})
		}
	case "renameat", "renameat2":
		from, ok1 := d.inside(c.args[0], c.args[1])
		to, ok2 := d.inside(c.args[2], c.args[3])
		if ok1 || ok2 {
			n := d.node(from)
			d.put(from, nil)
			d.put(to, n)
		}
	case "linkat":
		from, ok := d.inside(c.args[0], c.args[1])
		if to, in := d.inside(c.args[2], c.args[3]); ok && in {
			d.put(to, d.node(from))
		}
	case "unlinkat":
		if rel, ok := d.inside(c.args[0], c.args[1]); ok {
			d.put(rel, nil)
		}
	case "fsync", "fdatasync":
		if rel, ok := d.fd(c.args[0]); ok {
			d.synced(d.node(rel))
		}
	case "lseek":
		if _, ok := d.fd(c.args[0]); ok {
			d.at[c.args[0]] = c.result
		}
	default:
		d.writes(c)
	}
}

func (d *disk) synced(n *diskNode) {
	switch {
	case n == nil:
	case n.dir:
		n.kept = maps.Clone(n.kids)
		d.syncs++
	default:
		n.disk = bytes.Clone(n.data)
		d.syncs++
	}
}

func (d *disk) opens(c fsCall) {
	rel, ok := d.inside(c.args[0], c.args[1])
	if !ok {
		return
	}
	n := d.node(rel)
	if n == nil && strings.Contains(c.args[2], "O_CREAT") {
		n = &diskNode{}
		d.put(rel, n)
	}
	if n != nil && strings.Contains(c.args[2], "O_TRUNC") {
		n.data = nil
	}
	key := strings.TrimPrefix(c.args[len(c.args)-1], "fd")
	d.at[key] = 0
	if n != nil && strings.Contains(c.args[2], "O_APPEND") {
		d.at[key] = int64(len(n.data))
	}
}

// writes takes in a call that changes what is in a file.
func (d *disk) writes(c fsCall) {
	rel, ok := d.fd(c.args[0])
	n := d.node(rel)
	if !ok || n == nil || n.dir {
		return
	}
	switch c.name {
	case "write":
		text := c.args[1]
		n.data = splice(n.data, d.at[c.args[0]], text[1:len(text)-1])
		d.at[c.args[0]] += c.result
	case "pwrite64":
		text := strings.Join(c.args[1:len(c.args)-2], ", ")
		off, err := strconv.ParseInt(c.args[len(c.args)-1], 10, 64)
		if err != nil {
			d.odd = append(d.odd, c.name)
		}
		n.data = splice(n.data, off, text[1:len(text)-1])
	case "ftruncate":
		size, err := strconv.ParseInt(c.args[1], 10, 64)
		if err != nil {
			d.odd = append(d.odd, c.name)
		}
		if size <= int64(len(n.data)) {
			n.data = bytes.Clone(n.data[:size])
		} else {
			n.data = append(n.data, make([]byte, size-int64(len(n.data)))...)
		}
	default:
		d.odd = append(d.odd, c.name+" "+rel)
	}
}

func splice(data []byte, at int64, text string) []byte {
	if more := at + int64(len(text)) - int64(len(data)); more > 0 {
		data = append(data, make([]byte, more)...)
	}
	copy(data[at:], text)
	return data
}

// A cut says what of all that was not synced survives: of the names in a
// directory, and of the bytes in a file.
type cut struct {
	name         string
	names, bytes func() bool
}

func cuts(r *rand.Rand) []cut {
	yes, no, coin := func() bool { return true }, func() bool { return false }, func() bool { return r.IntN(2) == 0 }
	return []cut{{"nothing survives", no, no}, {"names survive", yes, no}, {"bytes survive", no, yes}, {"some survives", coin, coin}}
}

// leaves writes what a power cut leaves.
func (d *disk) leaves(c cut, to string) error { return d.top.leaves(c, to) }

func (n *diskNode) leaves(c cut, to string) error {
	if !n.dir {
		data := n.disk
		if c.bytes() {
			data = n.data
		}
		return os.WriteFile(to, data, 0o600)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	kids := n.kept
	if c.names() {
		kids = n.kids
	}
	for name, kid := range kids {
		if err := kid.leaves(c, filepath.Join(to, name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
