package render

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// locateWork locates work that is not in its expected place.
func locateWork(b *strings.Builder, list []*session.Push, thread string) {
	for i, s := range list {
		again := i > 0 && list[i-1].How == s.How && list[i-1].To == s.To
		switch {
		case s.Settled || again:
		case s.How == session.SentRestored:
			fmt.Fprintf(
				b,
				"> [!NOTE]\n> The branch %s was deleted, so I restored it to keep the work. Delete it again if you do not want it.\n\n",
				code(s.Branch),
			)
		case s.How == session.SentRebased && len(s.Said) > 0: //control:rewrite-is-told
			fmt.Fprintf(
				b,
				"> [!NOTE]\n> On %s: %s.\n\n",
				code(s.Branch),
				words(untrusted.EscapeLine(strings.Join(s.Said, "; "))),
			)
		case s.How == session.SentFallback:
			fmt.Fprintf(
				b,
				"> [!IMPORTANT]\n> The work is on the branch %s, because I could not push it to %s%s\n\n",
				code(s.To),
				code(s.Branch),
				why(s, "Further work goes there until its pull request is merged or closed."),
			)
		case s.How == session.SentPatch:
			fmt.Fprintf(
				b,
				"> [!CAUTION]\n> I could not push the work to any branch%s\n\n%s",
				why(s, ""),
				patchPlace(s, "The work", thread),
			)
			b.WriteString("When the obstacle is gone, `/agent retry` pushes it and continues.\n\n")
		}
		if len(s.Held) > 0 {
			writeWithheld(b, s, thread)
		}
	}
}

// writeWithheld lists files that the bot may not push, and asks the reader to apply them.
func writeWithheld(b *strings.Builder, s *session.Push, thread string) {
	b.WriteString("> [!IMPORTANT]\n> I may not push workflow files, so this is **not** on the branch:\n>\n")
	for _, f := range s.Held {
		fmt.Fprintf(b, "> - %s %s\n", code(f.Path), counts(f.Added, f.Removed))
	}
	b.WriteString("\n" + patchPlace(s, "It", thread))
	b.WriteString(
		"Please apply it yourself. To let me push it, give my token the permission *Workflows: read and write*: the owner of a GitHub App grants it to the App and accepts it for this repository. The token of a workflow run can never have it: give the Action another one as its input `token`. Then ask me again.\n\n",
	)
}

// why ends a sentence with the reasons, and appends another one and the remote's answer.
func why(s *session.Push, next string) string {
	end := "."
	if len(s.Conflicts) > 0 {
		end = ": others changed the same lines of " + paths(s.Conflicts) + "."
	}
	if end = strings.TrimSuffix(end+" "+next, " "); len(s.Said) == 0 || len(s.Conflicts) > 0 {
		return end
	}
	var b strings.Builder
	for line := range strings.Lines(limit(strings.Join(s.Said, "\n"), 3000)) { // the prefix keeps each line from being a command
		b.WriteString("remote: " + untrusted.EscapeVisible(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return end + " The answer was:\n\n" + strings.TrimSuffix(fenced("", b.String()), "\n\n")
}

// patchPlace locates the patch.
func patchPlace(s *session.Push, what, thread string) string {
	n := len(Patches(s.Patch))
	switch {
	case n == 0 && s.Patch == "" && s.PatchSize == 0:
		return ""
	case n == 0:
		return fmt.Sprintf(
			"%s is too large to be shown here (%s as a patch). It is commit `%s` in the server's mirror of this repository; ask the operator of the server for it.\n\n",
			what,
			size(max(s.PatchSize, len(s.Patch))),
			s.Commit,
		)
	case n == 1:
		return fmt.Sprintf("%s is in my comment in %s, as a patch.\n\n", what, thread)
	}
	return fmt.Sprintf("%s is in %d of my comments in %s, as a patch.\n\n", what, n, thread)
}

func size(n int) string {
	switch {
	case n < 10_000:
		return phrase.Count(n, "byte")
	case n < 10_000_000:
		return fmt.Sprintf("%d KB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

const (
	patchRoom  = 60000 // characters of a patch in one comment
	maxPlain   = 6     // maximum number of comments with a plain patch
	maxPatches = 30    // maximum number of comments with a packed patch
)

// Patches returns the comments that hold a patch, nil if there is none or it is too
// large. The parts concatenated in order are the whole patch.
func Patches(patch string) []untrusted.Post {
	if patch == "" {
		return nil
	}
	parts, ok := plainParts(patch)
	if !ok {
		if parts, ok = packedParts(patch); !ok {
			return nil
		}
		return patchComments(
			parts,
			patchKind{"", "changes.patch.gz.b64", "base64 -d changes.patch.gz.b64 | gunzip | git apply",
				"It is packed (gzip, then base64), because it is long or has characters that a comment does not keep."},
		)
	}
	return patchComments(parts, patchKind{"diff", "changes.patch", "git apply changes.patch", ""})
}

// plainParts splits a patch at line breaks. It reports false for a patch that a comment
// would alter.
func plainParts(patch string) ([]string, bool) {
	if !utf8.ValidString(patch) || strings.ContainsFunc(patch, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.In(r, unicode.Zl, unicode.Zp)) //control:patch-unchanged
	}) || !strings.Contains(untrusted.CleanOutput(fenced("diff", patch), untrusted.OutputOptions{}), patch) {
		return nil, false
	}
	var parts []string
	var part strings.Builder
	n := 0
	for l := range strings.Lines(patch) {
		length := utf8.RuneCountInString(l)
		if length > patchRoom {
			return nil, false
		}
		if n += length; n > patchRoom {
			parts, n = append(parts, part.String()), length
			part.Reset()
		}
		part.WriteString(l)
	}
	parts = append(parts, part.String())
	return parts, len(parts) <= maxPlain
}

// packedParts compresses and encodes a patch, in parts with lines of 76 characters.
func packedParts(patch string) ([]string, bool) {
	var buf bytes.Buffer
	z, _ := gzip.NewWriterLevel(&buf, gzip.BestCompression) // the level is valid
	if _, err := z.Write([]byte(patch)); err != nil {
		return nil, false
	}
	if err := z.Close(); err != nil {
		return nil, false
	}
	code := []byte(base64.StdEncoding.EncodeToString(buf.Bytes()))
	const wide, rows = 76, patchRoom / 77
	var parts []string
	var part bytes.Buffer
	for n := 0; len(code) > 0; n++ {
		if n == rows {
			parts, n = append(parts, part.String()), 0
			part.Reset()
		}
		end := min(wide, len(code))
		for end < len(code) && code[end] == '/' { // a line that begins with a slash looks like a command
			end++
		}
		part.Write(code[:end])
		part.WriteByte('\n')
		code = code[end:]
	}
	parts = append(parts, part.String())
	return parts, len(parts) <= maxPatches
}

// patchKind describes the format of a patch and the command that applies it.
type patchKind struct{ lang, file, apply, why string }

func patchComments(parts []string, k patchKind) []untrusted.Post {
	out := make([]untrusted.Post, 0, len(parts))
	for i, part := range parts {
		var b strings.Builder
		title, how := "Patch", "Save the text below as `"+k.file+"` and run `"+k.apply+"` in a clone of the repository."
		if n := len(parts); n > 1 {
			title = fmt.Sprintf("Patch, part %d of %d", i+1, n)
			how = fmt.Sprintf(
				"Join the texts of all %d parts in order in `%s` and run `%s` in a clone of the repository.",
				n,
				k.file,
				k.apply,
			)
		}
		fmt.Fprintf(&b, "### 📎 %s\n\nI could not push this work. %s", title, how)
		if k.why != "" {
			b.WriteString(" " + k.why)
		}
		out = append(
			out,
			untrusted.Post{
				Text:  b.String(),
				Folds: []untrusted.Fold{{Title: fmt.Sprintf("%s (%s)", title, size(len(part))), Text: fenced(k.lang, part)}},
			},
		)
	}
	return out
}
