package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/handrail-bot/handrail/cmd/door"
)

type versionCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// versionInfo is the contract of `handrail version --json`.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Run prints the version.
func (c *versionCmd) Run(w *console) error {
	v := readVersion()
	if c.JSON {
		return door.JSONLine(w.out, v)
	}
	fmt.Fprintf(w.out, "handrail %s (%s, %s)\n", v.Version, v.Go, v.Platform)
	return nil
}

func version() string { return readVersion().Version }

// readVersion reads what the linker recorded: the module's version for an
// installed binary, the commit for one built from a checkout.
func readVersion() versionInfo {
	v := versionInfo{Version: "dev", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
