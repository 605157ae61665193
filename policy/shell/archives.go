package shell

import (
	"strings"

	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// archive follows programs that pack and unpack.
func archive(c *command, f *finding) string {
	for _, v := range c.Values("--to-command", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "--unzip-command") {
		packer(c, v)
	}
	for _, a := range c.List {
		if _, v, ok := strings.Cut(a.S, "exec="); ok && (strings.Contains(a.S, "checkpoint-action") || strings.HasPrefix(a.S, "exec=")) {
			c.runs(c, v)
		}
	}
	switch c.name {
	case "tar", "gtar", "bsdtar":
		tar(c, f)
		return c.passOn()
	case "unzip":
		dir, ok := c.Value("d")
		if ok && !c.Has("l", "t", "p", "Z") {
			unpack(c, f, dir)
		}
		unpackRemote(c, dir)
		return unknown
	case "zip":
		zip(c, f)
	case "cpio":
		extract := c.Has("i", "extract")
		if extract && c.Has("absolute-filenames") {
			f.hit("unpack-outside", c.line())
		}
		if v, ok := c.Value("D", "directory"); ok && extract {
			unpack(c, f, v)
		}
	}
	if !c.Has("d", "c", "decompress", "stdout") && !c.is("gunzip") {
		f.changes = true
	}
	return c.passOn()
}

func zip(c *command, f *finding) {
	ops := c.OperandsAfter("x", "i").From(1)
	for _, a := range ops {
		if c.Has("m", "move") {
			c.remove(a, true)
		}
	}
	if c.Has("r", "recurse-paths") {
		packsHome(c, f, ops)
	}
	if v, ok := c.Value("TT", "unzip-command"); ok {
		packer(c, v)
	}
}

// packer follows a program that an archive goes through.
func packer(c *command, v string) {
	if in("packers", programName(firstWord(v+" x"))) {
		return
	}
	c.runs(c, v)
}

func tar(c *command, f *finding) {
	first := c.At(0)
	old := first != "" && first[0] != '-' // options without a dash
	extract := old && strings.Contains(first, "x") || c.Has("x", "extract", "get")
	create := old && strings.ContainsAny(first, "cr") || c.Has("c", "create", "append", "update")
	if v, ok := c.Value("I"); ok {
		packer(c, v)
	}
	dir, inDir := c.Value("C", "directory", "cd")
	switch {
	case extract && inDir:
		unpack(c, f, dir)
	case extract && (c.Has("P", "absolute-names") || strings.Contains(first, "P") && first[0] != '/'):
		f.hit("unpack-outside", c.line())
	case create:
		tarCreate(c, f)
	}
	if extract {
		f.changes = true
		unpackRemote(c, dir)
	}
}

func tarCreate(c *command, f *finding) {
	v, ok := c.Value("f", "file")
	if first := c.At(0); !ok && first[0] != '-' && strings.HasSuffix(first, "f") && len(c.List) > 1 {
		v, ok = c.At(1), true
	}
	if ok && v != "-" {
		c.write(v)
	}
	packsHome(c, f, c.OperandsAfter("f", "T", "X", "exclude"))
	if c.Has("remove-files") {
		for _, a := range c.OperandsAfter("f", "C", "T", "X", "exclude") {
			c.remove(a, true)
		}
	}
}

// unpackRemote remembers a directory into which a downloaded archive was
// unpacked: what runs from there comes from the network.
func unpackRemote(c *command, dir string) {
	found := strings.Contains(c.waiting(), remote)
	for _, a := range c.List {
		text, _ := c.file(a.S)
		found = found || strings.Contains(text, remote)
	}
	if found {
		c.content[c.resolve(dir)] = remoteDir
	}
}

func unpack(c *command, f *finding, dir string) {
	p := c.resolve(dir)
	switch zone.Of(p) {
	case zone.Workspace, zone.Nowhere, zone.Temp, zone.Root, zone.Device:
	default:
		f.hit("unpack-outside", dir)
		f.touch(p)
	}
}
