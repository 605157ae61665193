package patch

import "testing"

// The form of quotes is never guessed: if the old text fits only if it does not count, quotes
// that the change leaves alone are the file's, and an edit with new ones is refused.
func TestSpelledAsTheFile(t *testing.T) {
	for name, tt := range map[string]struct{ before, old, add, want string }{
		"quotes":              {"say(\"hi\")\n", "say(“hi”)", "say(“ho”)", "say(\"ho\")\n"},
		"a new quote":         {"say(\"hi\")\n", "say(“hi”)", "say(“hi”, “ho”)", ""},
		"apostrophe and dash": {"x = 'a' - 1\n", "x = ‘a’ – 1", "x = ‘b’ – 2", ""},
		"entities":            {"if a < b && c {\n", "if a &lt; b &amp;&amp; c {", "if a &lt; d &amp;&amp; c {", "if a < d && c {\n"},
		"plain for others":    {"say(“hi”)\n", "say(\"hi\")", "say(\"ho\")", "say(“ho”)\n"},
		"plain in the new":    {"say(\"hi\")\n", "say(“hi”)", "say(\"ho\")", "say(\"ho\")\n"},
		"none in the new":     {"say(\"hi\")\n", "say(“hi”)", "say(ho)", "say(ho)\n"},
		"kept when exact":     {"say(“hi”)\n", "say(“hi”)", "say(“ho” – ‘x’)", "say(“ho” – ‘x’)\n"},
		"plain edit":          {"say(\"hi\")\n", "say(\"hi\")", "say(“ho”)", "say(“ho”)\n"},
		"the line beside":     {"say(\"hi\")\n\tx()\n", "say(“hi”)\n  x()", "say(“hi”)\n  y()", "say(\"hi\")\n\ty()\n"},
		"a sign of no width":  {"a\u200bb = 1\n", "ab = 1", "ab = 2", ""},
		"another entity":      {"a > b\nx = \"y\"\n", "a &gt; b\nx = &quot;y&quot;", "a &gt; b\nx = &quot;y&#39;s&quot;", ""},
		"a space of no ASCII": {"a\u00a0= 1\n", "a = 1", "a = 2", "a\u00a0= 2\n"},
	} {
		got, _, err := Replace(tt.before, tt.old, tt.add, false)
		if got.Text != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s: %q, %v; want %q", name, got.Text, err, tt.want)
		}
	}
}
