package agent

import (
	"testing"

	"github.com/handrail-bot/handrail/agent/llm"
)

// A window that a model's operator made small is all that its sessions have; one that
// was asked for in the configuration counts before it.
func TestOperatorsWindow(t *testing.T) {
	for _, c := range []struct {
		fixed, set, made int
		first, most      int
	}{
		{0, 0, 131072, 32768, 131072},
		{0, 8192, 131072, 8192, 8192},
		{0, 65536, 131072, 65536, 131072},
		{0, 0, 0, 32768, 32768},
		{0, 16384, 0, 16384, 16384},
		{0, 0, 8192, 8192, 8192},
		{24000, 8192, 131072, 24000, 24000},
		{24000, 0, 8192, 8192, 8192},
	} {
		caps := llm.Capabilities{ContextSet: c.set, ContextLength: c.made}
		w := &window{model: &model{caps: caps}, fixed: c.fixed}
		first := w.size()
		for range 10 {
			w.grow()
		}
		if first != c.first || w.size() != c.most || w.maxSize() != c.most || LargestContext(c.fixed, caps) != c.most {
			t.Errorf("%+v: a session begins with %d tokens and has at most %d (%d, %d)", c, first, w.size(), w.maxSize(), LargestContext(c.fixed, caps))
		}
	}
}
