package shell

import (
	"fmt"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
)

// maxKept limits the bytes of output in a session's log, besides results of calls.
const maxKept = 32 << 20

// kept issues handles for kept outputs, and counts their bytes.
type kept struct {
	mu    sync.Mutex
	last  int
	bytes int
	none  bool // nothing can be kept
}

func newKept(k *tools.Kit) *kept {
	return &kept{last: k.Shelled.Handles, bytes: k.Shelled.Kept, none: k.Output == nil}
}

// handle returns a new handle, which begins with a letter.
func (k *kept) handle(letter string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	return fmt.Sprintf("%s%d", letter, k.last)
}

// keepAll keeps all of an output that res shows only in part, and adds to res how to read
// the rest.
func (k *kept) keepAll(res *tools.Result, out string) {
	lines := strings.Count(strings.TrimRight(out, "\n"), "\n") + 1
	if k.none || strings.HasPrefix(res.Content, strings.TrimRight(out, "\n")) {
		return
	}
	k.mu.Lock()
	full := k.bytes+len(out) > maxKept //control:bounded-outputs
	if !full {
		k.bytes += len(out)
	}
	k.mu.Unlock()
	if full {
		res.Content += fmt.Sprintf(
			"\n[What is missing here is not kept: the session keeps at most %d MiB. Print less, or into a file.]",
			maxKept>>20,
		)
		return
	}
	res.Output, res.Handle = out, k.handle("o")
	from, to := headLines+1, lines-tailLines
	if to < from {
		from, to = 1, lines
	}
	res.Content += fmt.Sprintf(
		"\n[All %d line%s are kept: read_output {\"id\":%q,\"lines\":\"%d-%d\"} or {\"id\":%q,\"search\":\"error\"}]",
		lines,
		tools.Plural(lines),
		res.Handle,
		from,
		min(to, from+pageLines-1),
		res.Handle,
	)
}

// noOutput returns the error for a handle without an output.
func noOutput(s session.Shell, id string) error {
	var n int
	if _, err := fmt.Sscanf(id, "b%d", &n); err == nil && n > 0 && n <= s.Handles {
		return fmt.Errorf("the command %s ended with the workspace in which it ran. Start it again if you need it", id)
	}
	return fmt.Errorf("there is no output %q: a result names the id of what it left out", id)
}
