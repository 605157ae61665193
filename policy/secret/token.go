package secret

import (
	"regexp"
	"strings"

	"github.com/handrail-bot/handrail/policy/pattern"
)

// tokenShape is a well-known credential format: a fixed word, and an expression that
// matches from that word on. With boundary, the preceding character is not a letter or
// digit.
type tokenShape struct {
	word     string
	boundary bool
	form     func() *regexp.Regexp
}

func shape(word, form string) tokenShape {
	return tokenShape{word: word, boundary: true, form: pattern.Lazy(`^(?s:` + form + `)`)}
}

func inner(word, form string) tokenShape {
	t := shape(word, form)
	t.boundary = false
	return t
}

var tokenShapes = []tokenShape{
	inner(
		"-----BEGIN ",
		`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)`,
	),
	inner("ghp_", `[A-Za-z0-9._-]{40,}`), inner("gho_", `[A-Za-z0-9._-]{40,}`), inner("ghu_", `[A-Za-z0-9._-]{40,}`),
	inner("ghs_", `[A-Za-z0-9._-]{40,}`), inner("ghr_", `[A-Za-z0-9._-]{40,}`), inner("github_pat_", `[A-Za-z0-9_]{33,}`),
	inner("glpat-", `[A-Za-z0-9_-]{26,}`), inner("gldt-", `[A-Za-z0-9_-]{25,}`), inner("glrt-", `[A-Za-z0-9_-]{25,}`),
	shape("AKIA", `[A-Z2-7]{20}\b`), shape("ASIA", `[A-Z2-7]{20}\b`), shape("ABIA", `[A-Z2-7]{20}\b`), shape("ACCA", `[A-Z2-7]{20}\b`),
	shape("xox", `xox[abeoprs]-[A-Za-z0-9-]{10,}`), shape("xapp-", `xapp-[0-9]-[A-Za-z0-9-]{10,}`),
	inner("https://hooks.slack.com/", `https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/+_-]{20,}`),
	inner("https://discord", `https://discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{20,}`),
	shape("AIza", `[A-Za-z0-9_-]{39}`), shape("ya29.", `ya29\.[A-Za-z0-9_-]{20,}`), shape("GOCSPX-", `[A-Za-z0-9_-]{35}`),
	shape("sk_live_", `[a-z]+_[a-z]+_[A-Za-z0-9]{16,}`), shape("sk_test_", `[a-z]+_[a-z]+_[A-Za-z0-9]{16,}`),
	shape("rk_live_", `[a-z]+_[a-z]+_[A-Za-z0-9]{16,}`), shape("rk_test_", `[a-z]+_[a-z]+_[A-Za-z0-9]{16,}`),
	shape("whsec_", `whsec_[A-Za-z0-9+/]{24,}={0,2}`), shape("sk-", `sk-[A-Za-z0-9_-]{32,}`),
	shape("npm_", `npm_[A-Za-z0-9]{36}\b`), shape("pypi-AgE", `[A-Za-z0-9_-]{58,}`), shape("rubygems_", `rubygems_[a-f0-9]{48}\b`),
	shape("dop_v1_", `dop_v1_[a-f0-9]{64}\b`), shape("hf_", `hf_[A-Za-z0-9]{30,}`), shape("SG.", `SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`),
	shape("dckr_pat_", `[A-Za-z0-9_-]{29,}`), shape("hvs.", `hvs\.[A-Za-z0-9_-]{24,}`), shape("shp", `shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`),
	shape("AGE-SECRET-KEY-1", `[0-9A-Z-]{74}\b`), shape("eyJ", `eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`),
	inner("AccountKey=", `AccountKey=[A-Za-z0-9+/]{40,}={0,2}`), inner("SharedAccessKey=", `SharedAccessKey=[A-Za-z0-9+/]{40,}={0,2}`),
	inner("uthorization:", `uthorization:\s*(?i:bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{12,}`),
	inner("://", `://[^\s/:@\[\]]+:[^\s/:@\[\]]{3,}@`), inner(":AA", `:AA[A-Za-z0-9_-]{33}\b`),
}

// tokenSpans returns the spans of s that look like credentials.
func tokenSpans(s string) []span {
	var found []span
	for _, t := range tokenShapes {
		for at := 0; ; {
			k := strings.Index(s[at:], t.word)
			if k < 0 {
				break
			}
			start := at + k
			at = start + len(t.word)
			if t.boundary && start > 0 && wordByte(s[start-1]) {
				continue
			}
			if m := t.form().FindStringIndex(s[start:]); m != nil {
				found = append(found, span{start, start + m[1]})
				at = start + m[1]
			}
		}
	}
	return found
}

func wordByte(c byte) bool { return c == '_' || letter(c) || c >= '0' && c <= '9' }

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
