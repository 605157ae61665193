package host

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// niceness converts a priority returned by the kernel.
func niceness(priority int) int { return 20 - priority }

// Hide prevents other processes of the same user, except root, from reading the memory
// and the descriptors of this one.
func Hide() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect own memory: %w", err)
	}
	return nil
}

// guard protects the first process of a namespace from commands of the same user: they
// can neither read its memory and descriptors nor end it, and if they exhaust the
// process limit, it still has the threads that it needs. Its initial soft limit of
// processes becomes that of its children. The returned function stops catching signals.
func (ps *processes) guard() (release func(), err error) {
	if err := Hide(); err != nil {
		return nil, err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
		return nil, fmt.Errorf("read process limit: %w", err)
	}
	if limit.Cur < math.MaxInt32 {
		ps.limit = limit.Cur
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: limit.Max, Max: limit.Max}); err != nil {
			return nil, fmt.Errorf("lift own process limit: %w", err)
		}
	}
	prepareThreads(16)
	// Commands inherit ignored signals, but not handlers. The signals are dropped.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals)
	return func() { signal.Stop(signals) }, nil
}

// prepareThreads makes the runtime start n threads. They are kept for later use.
func prepareThreads(n int) {
	var all, done sync.WaitGroup
	all.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		})
	}
	done.Wait()
}

// confine limits the processes and the memory of a child, before it runs any foreign
// code.
func (ps *processes) confine(pid int) error {
	if ps.init {
		// The kernel must kill commands first when memory runs out. This fails if the child has
		// already ended.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("500"), 0)
	}
	if ps.data > 0 {
		data := unix.Rlimit{Cur: ps.data, Max: ps.data}
		if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &data, nil); err != nil {
			return fmt.Errorf("limit memory: %w", err)
		}
	}
	if ps.limit == 0 {
		return nil
	}
	limit := unix.Rlimit{Cur: ps.limit, Max: ps.limit}
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, &limit, nil); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}

// takeProcessors binds the calling thread to n of its processors. The choice is random,
// to spread sessions.
func takeProcessors(n int) error {
	var may, take unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return fmt.Errorf("find processors: %w", err)
	}
	var cpus []int
	for i := range 1024 {
		if may.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	if len(cpus) <= n { //control:processors
		return nil
	}
	first := rand.IntN(len(cpus))
	for i := range n {
		take.Set(cpus[(first+i)%len(cpus)])
	}
	if err := unix.SchedSetaffinity(0, &take); err != nil {
		return fmt.Errorf("take processors: %w", err)
	}
	return nil
}

// inMemory reports whether a file system is a tmpfs.
func inMemory(st *unix.Statfs_t) bool { return int64(st.Type) == unix.TMPFS_MAGIC }
