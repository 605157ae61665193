package live

import (
	"testing"
	"time"
)

// A session that runs for long is shown less and less often: some forty edits
// in 22 minutes, and not 440.
func TestProgressGetsRarer(t *testing.T) {
	t.Parallel()
	edits, last := 0, time.Duration(0)
	for age := time.Duration(0); age < 22*time.Minute; edits++ {
		wait := pause(3*time.Second, age)
		if wait < last || wait < 3*time.Second {
			t.Errorf("after %s the next edit comes after %s, the one before came after %s", age, wait, last)
		}
		age, last = age+wait, wait
	}
	if edits < 20 || edits > 60 {
		t.Errorf("%d edits in 22 minutes", edits)
	}
	if got := pause(3*time.Second, 100*time.Hour); got != 5*time.Minute {
		t.Errorf("a session of days is shown every %s", got)
	}
	if got := pause(time.Hour, time.Hour); got != time.Hour {
		t.Errorf("what was set to an hour is shown every %s", got)
	}
}
