//go:build !linux

package seccomp

// Wall returns [ErrUnknown]: only Linux has these filters.
func Wall() ([]byte, error) { return nil, ErrUnknown }

// Commands returns [ErrUnknown]: only Linux has these filters.
func Commands(bool) error { return ErrUnknown }
