package policy

import "regexp"

// tokens matches credentials by their well-known shapes. The first group,
// when there is one, is the part that is secret.
var tokens = regexp.MustCompile(
	`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)` +
		`|gh[pousr]_[A-Za-z0-9._-]{36,}` +
		`|github_pat_[A-Za-z0-9_]{22,}` +
		`|glpat-[A-Za-z0-9_-]{20,}|gldt-[A-Za-z0-9_-]{20,}|glrt-[A-Za-z0-9_-]{20,}` +
		`|\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b` +
		`|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[0-9]-[A-Za-z0-9-]{10,}` +
		`|https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/+_-]{20,}` +
		`|https://discord(?:app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{20,}` +
		`|\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{28}` +
		`|\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/]{24,}` +
		`|\bsk-(?:ant-|proj-|svcacct-|admin-|or-)?[A-Za-z0-9_-]{32,}` +
		`|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-AgE[A-Za-z0-9_-]{50,}|\brubygems_[a-f0-9]{48}\b` +
		`|\bdop_v1_[a-f0-9]{64}\b|\bhf_[A-Za-z0-9]{30,}|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}` +
		`|\bdckr_pat_[A-Za-z0-9_-]{20,}|\bhvs\.[A-Za-z0-9_-]{24,}|\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}` +
		`|\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b` +
		`|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}` +
		`|(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,}={0,2}` +
		`|(?i:\bauthorization:\s*(?:bearer|basic|token)\s+)[A-Za-z0-9._~+/=-]{12,}` +
		`|://[^\s/:@\[\]]+:[^\s/:@\[\]]{3,}@`)

// tokenSpans returns where s holds what looks like a credential.
func tokenSpans(s string) []span {
	var found []span
	for _, m := range tokens.FindAllStringIndex(s, -1) {
		found = append(found, span{m[0], m[1]})
	}
	return found
}
