package longtest

import (
	"flag"
	"testing"
)

func TestNothingIsLeftOutInCI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		run, name string
		want      bool
	}{
		{want: true},
		{run: "TestCrash"},
		{name: "CI"},
		{name: "HANDRAIL_LONG"},
		{name: "HANDRAIL_REQUIRE_ENGINES"},
	} {
		got := plain(tt.run, func(name string) string {
			if name == tt.name {
				return "1"
			}
			return ""
		})
		if got != tt.want {
			t.Errorf("-run %q with %s: long tests are left out: %v", tt.run, tt.name, got)
		}
	}
}

func TestWide(t *testing.T) {
	f := flag.Lookup("test.parallel")
	was, given := f.Value.String(), false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	t.Cleanup(func() { _ = f.Value.Set(was) })
	Wide(37)
	if got := f.Value.String(); (got == "37") == given {
		t.Errorf("%s tests run beside each other; -parallel was given: %v", got, given)
	}
}
