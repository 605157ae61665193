package layer

import (
	"os"

	"golang.org/x/sys/unix"
)

// opaque reports whether a directory of an overlay's upper layer hides the lower one: it
// was removed and created again.
func opaque(dir *os.File) bool {
	for _, name := range []string{"trusted.overlay.opaque", "user.overlay.opaque"} {
		said := make([]byte, 1)
		if n, err := unix.Fgetxattr(int(dir.Fd()), name, said); err == nil && n == 1 && said[0] == 'y' {
			return true
		}
	}
	return false
}
