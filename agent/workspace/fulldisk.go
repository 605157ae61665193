package workspace

import (
	"errors"
	"fmt"
)

// FullDisk adds a remedy, and its result, to an error that reports a full disk.
func FullDisk(err error, then string) error {
	if !errors.Is(err, ErrFull) {
		return err
	}
	return fmt.Errorf("%w: free disk space; %s", err, then)
}
