package workspace

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine is what workspaces see of this machine besides /usr, such as the toolchains
// of a runner.
type Machine struct {
	Dirs   []string          // read-only, at the same paths
	Hidden []string          // directories in these, or in /usr, that are shown empty
	Env    map[string]string // PATH, and what else names a place in them
}

// Programs says what programs workspaces have that see this machine's own: its system, and
// where they are looked for.
func Programs(path string) string {
	system, _ := os.ReadFile("/etc/os-release") // where there is none, nobody says what it is
	return strings.Join([]string{runtime.GOARCH, path, string(system)}, "\n")
}

// Etc is what workspaces on this machine's own programs see of /etc.
var Etc = []string{"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl/certs", "ca-certificates", "nsswitch.conf", "protocols", "services", "localtime", "mime.types", "java-17-openjdk", "python3"}

// EtcFiles returns what /etc has of its own there: it names the user inside.
func EtcFiles() map[string]string {
	uid, gid := Owner()
	return map[string]string{
		"passwd": fmt.Sprintf("root:x:0:0::/:/usr/sbin/nologin\nagent:x:%d:%d::/cache/home:/bin/sh\n", uid, gid),
		"group":  fmt.Sprintf("root:x:0:\nagent:x:%d:\n", gid),
		"hosts":  "127.0.0.1 localhost\n::1 localhost\n",
	}
}
