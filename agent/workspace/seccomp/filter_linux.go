package seccomp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets into struct seccomp_data. Filters load the first half of an argument, which is
// its low word: all supported machines are little-endian.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// allow is the result of a filter for a permitted call.
const allow = unix.SECCOMP_RET_ALLOW

func refuse(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// rule refuses a call: always, or if an argument has a bit of mask, is one of values, or
// is none of only.
type rule struct {
	call   uint32
	errno  unix.Errno
	arg    uint32
	mask   uint32
	values []uint32
	only   []uint32
}

// always refuses a call with any arguments.
func always(call uint32, errno unix.Errno) rule { return rule{call: call, errno: errno} }

// flagged refuses a call if its first argument has one of the flags.
func flagged(call, flags uint32) rule { return rule{call: call, errno: unix.EPERM, mask: flags} }

// Wall returns the filter for a whole sandbox, in the kernel's format, or [ErrUnknown].
func Wall() ([]byte, error) {
	program, err := assemble(wallRules(), true)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, in := range program {
		if err := binary.Write(&out, binary.NativeEndian, in); err != nil {
			return nil, fmt.Errorf("write filter: %w", err)
		}
	}
	return out.Bytes(), nil
}

// Commands loads the filter for commands into the calling thread. Commands cannot reserve
// disk space at once, which would outrun the watch. With strict they also cannot leave
// their processors, or hold memory that belongs to no process. The caller must not unlock
// the thread.
func Commands(strict bool) error {
	rules := commandRules()
	if strict {
		rules = append(rules, strictRules()...)
	}
	program, err := assemble(rules, false)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("load filter: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("load filter: %w", errno)
	}
	return nil
}

// assemble builds the program. For a wall, calls of another architecture, such as 32-bit
// ones, and calls newer than lastCall fail with ENOSYS; otherwise they are allowed.
func assemble(rules []rule, wall bool) ([]bpf.RawInstruction, error) {
	if arch == 0 {
		return nil, fmt.Errorf("make filter for %s: %w", runtime.GOARCH, ErrUnknown)
	}
	unknown := refuse(unix.ENOSYS)
	if !wall {
		unknown = allow
	}
	foreign := bpf.RetConstant{}
	foreign.Val = unknown //control:foreign-calls
	in := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		foreign,
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
	}
	if wall {
		in = append(in, bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: lastCall, SkipFalse: 1}, bpf.RetConstant{Val: unknown})
	}
	for _, r := range rules {
		body := r.body()
		in = append(in, bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.call, SkipFalse: uint8(len(body))})
		in = append(in, body...)
	}
	return bpf.Assemble(append(in, bpf.RetConstant{Val: allow}))
}

// body returns the instructions that decide on a call. All of them lead to a return.
func (r rule) body() []bpf.Instruction {
	no := bpf.RetConstant{Val: refuse(r.errno)}
	yes := bpf.RetConstant{Val: allow}
	load := bpf.LoadAbsolute{Off: offArgs + 8*r.arg, Size: 4}
	switch {
	case r.mask != 0:
		return []bpf.Instruction{load, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: r.mask, SkipFalse: 1}, no, yes}
	case len(r.values) > 0:
		return choose(load, r.values, no, yes)
	case len(r.only) > 0:
		return choose(load, r.only, yes, no)
	}
	return []bpf.Instruction{no}
}

func choose(load bpf.Instruction, values []uint32, hit, miss bpf.Instruction) []bpf.Instruction {
	out := []bpf.Instruction{load}
	for _, v := range values {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1}, hit)
	}
	return append(out, miss)
}
