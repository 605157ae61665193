package objects

import (
	"errors"
	"io/fs"
	"os"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
)

// files are the files of a git directory, as go-git sees them.
type files struct{ *osfs.BoundOS }

// filesIn returns the files of a git directory.
func filesIn(dir string) billy.Filesystem {
	return files{osfs.New(dir, osfs.WithBoundOS()).(*osfs.BoundOS)}
}

// maxLists is the maximum number of tries to list a directory.
const maxLists = 10_000

// ReadDir lists a directory that changes meanwhile. Objects are written into the directory of
// packs first, under a name of their own. If such a file is gone before it is looked at, billy
// says that something is missing, which go-git takes for a directory without packs: the view
// would miss all objects in packs for as long as it lives.
func (f files) ReadDir(name string) ([]os.FileInfo, error) {
	for try := 1; ; try++ {
		list, err := f.BoundOS.ReadDir(name)
		if !errors.Is(err, fs.ErrNotExist) || try == maxLists { //control:lists-while-writing
			return list, err
		}
		if _, missing := f.Stat(name); missing != nil {
			return list, err
		}
	}
}
