package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/mark"
	"github.com/handrail-bot/handrail/policy/shell/walk"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// archive follows programs that pack and unpack.
func archive(c *walk.Command) string {
	for _, a := range c.List {
		if _, v, ok := strings.Cut(a.S, "exec="); ok && (strings.Contains(a.S, "checkpoint-a") || strings.HasPrefix(a.S, "exec=")) {
			c.Runs(c, v)
		}
	}
	switch c.Name {
	case "7z", "7za", "7zr", "7zz":
		sevenZipMoves(c)
		if dir, ok := sevenZip(c); ok {
			unpack(c, dir)
		}
	case "tar", "gtar", "bsdtar":
		tar(c)
		return c.PassOn()
	case "unzip":
		dir, ok := c.Value("d")
		if ok && !c.Exactly("-l", "-t", "-p", "-Z") {
			unpack(c, dir)
		}
		unpackRemote(c, dir)
		return unknown
	case "zip":
		zip(c)
	case "cpio":
		cpio(c)
	}
	decompressed(c)
	if out, ok := throughPipe(c); ok {
		return out
	}
	if !c.Has("d", "c", "decompress", "stdout") && !c.Is("gunzip") {
		c.Found.Changes = true
	}
	return c.PassOn()
}

func cpio(c *walk.Command) {
	extract := c.Has("i", "extract")
	if extract && c.Has("absolute-filenames") {
		c.Hit("unpack-outside")
	}
	if v, ok := c.Value("D", "directory"); ok && extract {
		unpack(c, v)
	}
}

// compressed stands before a text that was compressed.
const compressed = "\x1f\x8b"

// throughPipe is what a program that compresses makes of its input, when the
// line itself gives it.
func throughPipe(c *walk.Command) (string, bool) {
	if len(c.OperandsAfter()) > 0 || c.Waiting() == "" || !mark.Known(c.Waiting()) || !c.Is("gzip", "gunzip", "bzip2", "xz", "zstd") {
		return "", false
	}
	text := c.Stdin()
	if c.Has("d", "decompress") || c.Is("gunzip") {
		return strings.CutPrefix(text, compressed)
	}
	return compressed + text, true
}

// decompressed remembers files that were compressed by the line itself, or
// downloaded.
func decompressed(c *walk.Command) {
	for _, a := range c.OperandsAfter() {
		if name := strings.TrimSuffix(a.S, path.Ext(a.S)); name != a.S && (c.Is("gunzip") || c.Has("d", "decompress")) {
			if text, ok := c.File(a.S); ok {
				c.Store(c.Resolve(name), text, false)
			}
		}
	}
}

// packed remembers that an archive holds a credential.
func packed(c *walk.Command, name string, from argv.List) {
	if slices.ContainsFunc(from, func(a argv.Word) bool { return holdsCredential(c, a.S) }) {
		c.Store(c.Resolve(name), secret, false)
	}
}

// sevenZip is the directory that 7z unpacks to.
func sevenZip(c *walk.Command) (string, bool) {
	for _, a := range c.List {
		if dir, ok := strings.CutPrefix(a.S, "-o"); ok && walk.OneOf(c.At(0), "x", "e") {
			return dir, true
		}
	}
	return "", false
}

// sevenZipMoves removes the files that 7z deletes once they are packed.
func sevenZipMoves(c *walk.Command) {
	if slices.ContainsFunc(c.List, func(a argv.Word) bool { return a.S == "-sdel" }) {
		for _, a := range c.OperandsAfter().From(2) { // behind the verb and the archive
			c.Remove(a, true)
		}
	}
}

func zip(c *walk.Command) {
	ops := c.OperandsAfter("x", "i").From(1)
	for _, a := range ops {
		if c.Has("m", "move") {
			c.Remove(a, true)
		}
	}
	if c.Has("r", "recurse-paths") {
		packsHome(c, ops)
	}
	packed(c, c.OperandsAfter("x", "i").At(0), ops)
}

func tar(c *walk.Command) {
	first := c.At(0)
	old := first != "" && first[0] != '-' // options without a dash
	extract := old && strings.Contains(first, "x") || c.Has("x", "extract", "get")
	create := old && strings.ContainsAny(first, "cr") || c.Has("c", "create", "append", "update")
	dir, inDir := c.Value("C", "directory", "cd")
	switch {
	case extract && inDir:
		unpack(c, dir)
	case extract && (c.Has("P", "absolute-names") || strings.Contains(first, "P") && first[0] != '/'):
		c.Hit("unpack-outside")
	case create:
		tarCreate(c)
	}
	if extract {
		c.Found.Changes = true
		unpackRemote(c, dir)
	}
}

func tarCreate(c *walk.Command) {
	v, ok := c.Value("f", "file")
	if first := c.At(0); !ok && first[0] != '-' && strings.HasSuffix(first, "f") && len(c.List) > 1 {
		v, ok = c.At(1), true
	}
	if ok && v != "-" {
		c.Write(v)
		packed(c, v, c.OperandsAfter("f", "T", "X", "exclude"))
	}
	packsHome(c, c.OperandsAfter("f", "T", "X", "exclude"))
	if c.Has("remove-files") {
		for _, a := range c.OperandsAfter("f", "C", "T", "X", "exclude") {
			c.Remove(a, true)
		}
	}
}

// unpackRemote remembers a directory into which a downloaded archive was
// unpacked: what runs from there comes from the network.
func unpackRemote(c *walk.Command, dir string) {
	found := strings.Contains(c.Waiting(), remote)
	for _, a := range c.List {
		text, _ := c.File(a.S)
		found = found || strings.Contains(text, remote)
	}
	if found {
		c.Content[c.Resolve(dir)] = walk.RemoteDir
	}
}

func unpack(c *walk.Command, dir string) {
	p := c.Resolve(dir)
	if in := p + "/x"; zone.Of(in) == zone.Obeyed || zone.Of(in) == zone.Runner {
		c.Found.Write(in)
	}
	switch zone.Of(p) {
	case zone.Workspace, zone.Nowhere, zone.Temp, zone.Root, zone.Device:
	default:
		c.Found.Hit("unpack-outside", dir)
		c.Found.Touch(p)
	}
}
