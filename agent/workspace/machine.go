package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Machine describes the parts of this machine, besides /usr, that workspaces see, such
// as the toolchains of a runner.
type Machine struct {
	Dirs   []string          // read-only, at the same paths
	Hidden []string          // directories within these or /usr that appear empty
	Env    map[string]string // PATH, and other variables that refer to Dirs
}

// Programs identifies the programs of workspaces that use those of this machine: its
// architecture, operating system and PATH.
func Programs(path string) string {
	system, _ := os.ReadFile("/etc/os-release") // empty if the file is missing
	return strings.Join([]string{runtime.GOARCH, path, string(system)}, "\n")
}

// Etc returns the entries of /etc visible to workspaces that use this machine's programs. Maven's
// settings, which may have passwords, are not among them.
func Etc() (out []string) {
	for _, name := range []string{
		"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ca-certificates", "nsswitch.conf",
		"protocols", "services", "localtime", "mime.types", "java-*-openjdk", "maven/m2.conf", "maven/logging", "python3*",
	} {
		found, err := filepath.Glob("/etc/" + name)
		if err == nil { // the patterns are valid
			out = append(out, found...)
		}
	}
	return out
}

// EtcFiles returns the generated files of /etc inside. They define the user.
func EtcFiles() map[string]string {
	uid, gid := Owner()
	return map[string]string{
		"passwd": fmt.Sprintf("root:x:0:0::/:/usr/sbin/nologin\nagent:x:%d:%d::/cache/home:/bin/sh\n", uid, gid),
		"group":  fmt.Sprintf("root:x:0:\nagent:x:%d:\n", gid),
		"hosts":  "127.0.0.1 localhost\n::1 localhost\n",
	}
}
