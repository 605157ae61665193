package policy

import (
	"strings"
	"testing"
)

// A request over several files names every sensitive one, with what makes it so.
func TestEverySensitiveFileIsNamed(t *testing.T) {
	mode, err := ParseMode("code")
	if err != nil {
		t.Fatal(err)
	}
	asks, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		act  Action
		want []string
	}{
		"one":            {Action{Kind: Write, Paths: []string{".env"}}, []string{".env is a sensitive file (**/*.env)"}},
		"two kinds":      {Action{Kind: Write, Paths: []string{"CODEOWNERS", "a.txt", ".env"}}, []string{"CODEOWNERS is a sensitive file (**/codeowners)", ".env is a sensitive file (**/*.env)"}},
		"three and one":  {Action{Kind: Delete, Paths: []string{"a.pem", "b.pem", ".envrc", "c.pem", "a.pem"}}, []string{"a.pem, b.pem and c.pem are sensitive files (**/*.{pem", ".envrc is a sensitive file (**/.envrc)"}},
		"by a command":   {Action{Kind: Execute, Command: "echo x > .env; echo y > CODEOWNERS", Cwd: "."}, []string{".env is a sensitive file (**/*.env)", "CODEOWNERS is a sensitive file (**/codeowners)"}},
		"in a directory": {Action{Kind: Execute, Command: "echo x > .env", Cwd: "sub"}, []string{"sub/.env is a sensitive file (**/*.env)"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			d := asks.Check(mode, tt.act)
			for _, r := range d.Reasons {
				if r.Rule == "sensitive_files" {
					got = append(got, r.Text)
				}
			}
			if d.Verdict != Ask || d.Rule != "sensitive_files" || d.Reasons[0].Rule != "sensitive_files" || len(got) != len(tt.want) {
				t.Fatalf("%v by %s, because %q", d.Verdict, d.Rule, d.Reasons)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], tt.want[i]) {
					t.Errorf("%q, want %q", got[i], tt.want[i])
				}
			}
		})
	}
}
