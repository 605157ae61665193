package shell

import (
	"reflect"
	"testing"
)

// TestVerdictIsSteady: one command has one verdict, however often it is
// analyzed. Its program text is put together from variables, of which any may
// be what runs.
func TestVerdictIsSteady(t *testing.T) {
	command := "v4='`rm'; v5='-rf'; v6='/`;'; node -e \"<p>it's</p><?php echo \" $v4 $v5 $v6 '?>'"
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
