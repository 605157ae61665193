package mark

import "testing"

func TestMarks(t *testing.T) {
	for name, c := range map[string]struct{ in, marks, bare, opaque, shown string }{
		"known":   {"rm", "", "rm", Unknown, "rm"},
		"unknown": {"rm " + Unknown, Unknown, "rm ", Unknown, "rm …"},
		"secret":  {Secret, Secret, "", Unknown + Secret, "…"},
		"twice":   {Remote + "a" + Remote, Remote, "a", Unknown + Remote, "…a…"},
		"all":     {Written + Remote + Secret + Unknown, All, "", All, "…………"},
		"nothing": {"", "", "", Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if Of(c.in) != c.marks || Known(c.in) != (c.marks == "") || Strip(c.in) != c.bare || Opaque(c.in) != c.opaque || Show(c.in) != c.shown {
				t.Errorf("%q: %q, %t, %q, %q, %q", c.in, Of(c.in), Known(c.in), Strip(c.in), Opaque(c.in), Show(c.in))
			}
		})
	}
}
