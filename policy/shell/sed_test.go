package shell

import "testing"

// TestSedScripts rates sed scripts whose patterns, replacements and addresses
// hold what ends a command elsewhere.
func TestSedScripts(t *testing.T) {
	for _, tt := range []struct {
		name, command string
		want          Severity
	}{
		{"semicolon in the pattern", `sed 's/a;b/rm -rf \//e' f`, Critical},
		{"semicolon in the replacement", `sed 's/x/rm -rf \/;echo/e' f`, Critical},
		{"semicolon in the address", `sed '/a;b/e rm -rf /' f`, Critical},
		{"braces in the pattern", `sed 's/{x}/rm -rf \//e' f`, Critical},
		{"flag of an address", `sed '/x/I e rm -rf /' f`, Critical},
		{"step without a space", `sed '1~2erm -rf /' f`, Critical},
		{"lines after a line", `sed '1,+3e rm -rf /' f`, Critical},
		{"file behind a semicolon", `sed 's/a;b/c/w /etc/passwd' f`, Critical},
		{"file without a space", `sed -n '/x/w/etc/hosts' f`, High},
		{"other delimiter", `sed -n '\,x,w /etc/hosts' f`, High},
		{"inserted text", "sed 'a\\\ne rm -rf /' f", None},
		{"inserted text that ends in a backslash", "sed 'a x\\\\\ne rm -rf /' f", Critical},
		{"slash in a class", `sed 's/[/]/e/' f`, None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if v := Analyze(tt.command); v.Severity != tt.want {
				t.Errorf("%s: %s, want %s (%v)", tt.command, v.Severity, tt.want, v.Reasons)
			}
		})
	}
}
