package layer

import (
	"os"

	"golang.org/x/sys/unix"
)

// opaque reports whether an overlay shows nothing of what lies below a directory of its
// upper layer: it was removed, and made again.
func opaque(dir *os.File) bool {
	for _, name := range []string{"trusted.overlay.opaque", "user.overlay.opaque"} {
		said := make([]byte, 1)
		if n, err := unix.Fgetxattr(int(dir.Fd()), name, said); err == nil && n == 1 && said[0] == 'y' {
			return true
		}
	}
	return false
}
