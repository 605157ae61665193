package shell

import (
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestHostileCommandsEnd holds the work of an analysis, counted and not timed,
// to its limits for inputs that were made to be expensive. What goes over a
// limit must be critical.
func TestHostileCommandsEnd(t *testing.T) {
	longtest.Leave(t)
	rep := strings.Repeat
	for name, line := range map[string]string{
		"nested substitutions": rep("$(", 4000) + "ls" + rep(")", 4000),
		"nested subshells":     rep("( ", 5000) + "ls" + rep(" )", 5000),
		"doubling":             "x=a;" + rep("x=$x$x;", 60),
		"nested loops":         "for a in {1..200}; do for b in {1..200}; do ls; done; done",
		"stream editor":        "sed '" + rep("s/a/b/e;", 6000) + "' f",
		"mounts":               "docker run " + rep("-v /a:/b ", 5000) + " x rm -rf /b",
		"wrappers":             rep("sudo ", 10000) + "ls",
		"functions":            "f(){ f $1$1$1; f $1$1$1; }; f aaaa",
		"one large line":       "echo " + rep("a", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			v := Analyze(line)
			if v.Severity < High {
				t.Errorf("%s is %s, want high or critical: %v", name, v.Severity, v.Reasons)
			}
			f := &finding{}
			func() {
				defer func() {
					if p := recover(); p != nil {
						f.broken(p)
					}
				}()
				w := newWalk(f, "")
				w.rules = rulesOf()
				w.program(line)
				w.finish()
			}()
			if hasReason(f.result(), "analysis-broken") {
				t.Errorf("the analysis broke: %v", f.result().Reasons)
			}
			const steps, bytes = 20_000, 4 << 20
			if f.steps > steps+1 || f.bytes > bytes*32 {
				t.Errorf("%d steps and %d bytes, want at most %d and %d", f.steps, f.bytes, steps, bytes)
			}
		})
	}
}
