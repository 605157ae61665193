package patch

import "testing"

// An edit whose old text fits only with plain quotes writes plain quotes.
func TestSpelledAsTheFile(t *testing.T) {
	for name, tt := range map[string]struct{ before, old, add, want string }{
		"quotes":               {"say(\"hi\")\n", "say(“hi”)", "say(“ho”)", "say(\"ho\")\n"},
		"another quote":        {"say(\"hi\")\n", "say(“hi”)", "say(“it’s”)", "say(\"it's\")\n"},
		"apostrophe and dash":  {"x = 'a' - 1\n", "x = ‘a’ – 1", "x = ‘b’ – 2", "x = 'b' - 2\n"},
		"entities":             {"if a < b && c {\n", "if a &lt; b &amp;&amp; c {", "if a &lt; d &amp;&amp; c {", "if a < d && c {\n"},
		"kept where they are":  {"say(“hi”) 'x'\n", "say(“hi”) ‘x’", "say(“ho”) ‘y’", "say(“ho”) 'y'\n"},
		"kept when exact":      {"say(“hi”)\n", "say(“hi”)", "say(“ho” – ‘x’)", "say(“ho” – ‘x’)\n"},
		"new where others are": {"a “b” ’\nsay(\"hi\")\n", "say(“hi”)", "say(“ho”)", "a “b” ’\nsay(\"ho\")\n"},
		"plain edit":           {"say(\"hi\")\n", "say(\"hi\")", "say(“ho”)", "say(“ho”)\n"},
	} {
		got, _, err := Replace(tt.before, tt.old, tt.add, false)
		if err != nil || got.Text != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, got.Text, err, tt.want)
		}
	}
}
