package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// programs tracks the programs that run beside the shell.
type programs struct {
	mu      sync.Mutex
	running map[uint64]*program
}

type program struct {
	cmd   *exec.Cmd
	mark  string
	stdin *os.File
	ended chan struct{}
}

func (p *program) family() family { return family{leader: p.cmd.Process.Pid, mark: p.mark} }

// busy reports whether a program runs, which may change files at any time.
func (ps *programs) busy() bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return len(ps.running) > 0
}

func (h *host) startProgram(ctx context.Context, p workspace.StartParams) error {
	if len(p.Argv) == 0 {
		return errors.New("start program: no command given")
	}
	dir, err := h.startDir(p.Cwd)
	if err != nil {
		return err
	}
	if dir == "" {
		dir = h.cfg.Root
	}
	if err := h.base.wait(ctx); err != nil {
		return err
	}
	if err := h.mayRun(ctx, ""); err != nil {
		return err
	}
	pr, out, err := h.spawn(p.Program, dir)
	if err != nil {
		return err
	}
	h.progs.mu.Lock()
	defer h.progs.mu.Unlock()
	if h.progs.running == nil || ctx.Err() != nil {
		h.procs.killAll(pr.family())
		_ = h.ended(pr, out)
		return workspace.ErrGone
	}
	h.progs.running[p.ID] = pr
	//nolint:contextcheck // the program outlives the request that started it
	h.work.Go(func() { h.follow(p.ID, pr, out) })
	return nil
}

// spawn starts a program in a directory, with pipes for its input and output. The caller calls
// [host.ended] once it has no more use for it.
func (h *host) spawn(p workspace.Program, dir string) (*program, *os.File, error) {
	var pp pipes
	defer pp.closeChild()
	inR, inW := pp.pipe()
	outR, outW := pp.pipe()
	if pp.err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start program: %w", pp.err), pp.closeAll())
	}
	pr := &program{mark: rand.Text(), stdin: inW, ended: make(chan struct{})}
	pr.cmd = exec.Command(p.Argv[0], p.Argv[1:]...)
	pr.cmd.Dir = dir
	pr.cmd.Env = append(h.environment(pr.mark), "PWD="+dir)
	for k, v := range p.Env {
		pr.cmd.Env = append(pr.cmd.Env, k+"="+v)
	}
	pr.cmd.Stdin, pr.cmd.Stdout = inR, outW
	pr.cmd.SysProcAttr = newSession()
	if err := h.procs.start(pr.cmd, pr.mark); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start program: %w", err), pp.closeAll())
	}
	pp.child = append(pp.child, inR, outW)
	return pr, outR, nil
}

// ended waits for the end of a program, ends its family and closes its pipes.
func (h *host) ended(pr *program, out *os.File) error {
	err := pr.cmd.Wait()
	h.procs.forget(pr.cmd.Process.Pid)
	h.procs.killAll(pr.family())
	out.Close()
	pr.stdin.Close()
	return err
}

// follow sends a program's output until it ends.
func (h *host) follow(id uint64, pr *program, out *os.File) {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		buf := make([]byte, 64<<10)
		for {
			n, err := out.Read(buf)
			if n > 0 {
				h.send(&workspace.StreamParams{ID: id, Data: buf[:n]})
			}
			if err != nil {
				return
			}
		}
	}()
	exit := ""
	if err := pr.cmd.Wait(); err != nil {
		exit = err.Error()
	}
	h.procs.forget(pr.cmd.Process.Pid)
	h.procs.killAll(pr.family())
	_ = out.SetReadDeadline(time.Now().Add(time.Second)) // escaped processes may still hold the pipe
	<-copied
	out.Close()
	pr.stdin.Close()
	h.watch.Ended()
	h.send(&workspace.StreamParams{ID: id, End: true, Exit: exit})
	close(pr.ended)
	h.servers.ran()
	h.progs.mu.Lock()
	delete(h.progs.running, id)
	h.progs.mu.Unlock()
}

func (h *host) send(p *workspace.StreamParams) {
	// A failure means that the client is gone, which ends the program.
	_ = h.conn.Notify(context.Background(), workspace.MethodOutput, p)
}

func (ps *programs) input(p workspace.StreamParams) error {
	ps.mu.Lock()
	pr := ps.running[p.ID]
	ps.mu.Unlock()
	if pr == nil {
		return fmt.Errorf("write to program: it has ended: %w", io.ErrClosedPipe)
	}
	if p.End {
		return pr.stdin.Close()
	}
	if _, err := pr.stdin.Write(p.Data); err != nil {
		return fmt.Errorf("write to program: %w", err)
	}
	return nil
}

func (ps *programs) stop(h *host, id uint64) {
	ps.mu.Lock()
	pr := ps.running[id]
	ps.mu.Unlock()
	if pr != nil {
		h.procs.killAll(pr.family())
	}
}

// stopAll ends every program; none starts afterwards.
func (ps *programs) stopAll(h *host) {
	ps.mu.Lock()
	all := ps.running
	ps.running = nil
	ps.mu.Unlock()
	for _, pr := range all {
		h.procs.killAll(pr.family())
		<-pr.ended
	}
}
