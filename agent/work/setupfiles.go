package work

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/gitops"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// namedFile is a file on which a set-up depends. content is the id of everything that a
// command reads under this name, or "" if the file is missing.
type namedFile struct{ name, content string }

// contents returns files as text for the key of a set-up.
func contents(list []namedFile) (out []string) {
	for _, f := range list {
		if f.content == "" {
			f.content = "(missing)"
		}
		out = append(out, f.name+" "+f.content)
	}
	return out
}

// badFileError reports a file on which no set-up can depend.
type badFileError struct{ name, why string }

func (e *badFileError) Error() string {
	return untrusted.EscapeLine(e.name) + ", which it hangs on (setup.files), " + e.why
}

// namedFiles returns the files on which a set-up depends.
func namedFiles(ctx context.Context, repo *gitops.Mirror, s setUp) (list []namedFile, err error) {
	for _, name := range s.Named() {
		f, err := readNamed(ctx, repo, s.commit, name)
		if errors.Is(err, gitops.ErrTooLarge) {
			err = &badFileError{name, fmt.Sprintf("has more than %d MiB: name a smaller one", maxFile>>20)}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s, which the set-up names: %w", name, err)
		}
		if f.content != "" || len(s.Files) > 0 {
			list = append(list, f)
		}
	}
	return list, nil
}

// maxLinks is the maximum number of symlinks on the way to a file.
const maxLinks = 16

// readNamed reads a file as commands do, through symlinks. Each symlink and the final file
// are part of its content.
func readNamed(ctx context.Context, repo *gitops.Mirror, commit, name string) (namedFile, error) {
	f := namedFile{name: name}
	read := ""
	for range maxLinks {
		at, link, err := firstLink(ctx, repo, commit, name)
		if err != nil || at == "" {
			return f, err
		}
		if !link { //control:setup-file-behind-a-link
			data, err := repo.ReadFile(ctx, commit, at, maxFile)
			if err == nil {
				f.content = contentID(append([]byte(read), data...))
			}
			return f, err
		}
		target, err := repo.ReadFile(ctx, commit, at, maxFile)
		if err != nil {
			return f, err
		}
		read += fmt.Sprintf("%q -> %q\n", at, target)
		name = path.Join(path.Dir(at), string(target), strings.TrimPrefix(name, at))
		down := strings.TrimLeft(string(target), "./")
		if path.IsAbs(string(target)) || name == ".." || strings.HasPrefix(name, "../") ||
			strings.Contains("/"+down+"/", "/../") {
			return f, &badFileError{
				f.name,
				"is a symlink out of the repository, or one that leads down and up again: name the file itself",
			}
		}
	}
	return f, &badFileError{f.name, "is a symlink that leads nowhere"}
}

// firstLink follows a path from the root to the first symlink on it, or else to the
// file. It returns "" if the file is missing.
func firstLink(ctx context.Context, repo *gitops.Mirror, commit, name string) (at string, link bool, err error) {
	dir := ""
	for i, part := range strings.Split(name, "/") {
		list, err := repo.List(ctx, commit, dir, false)
		if err != nil {
			return "", false, err
		}
		at = path.Join(dir, part)
		n := slices.IndexFunc(list, func(e gitops.TreeEntry) bool { return e.Path == at })
		last := i == strings.Count(name, "/")
		switch {
		case n < 0:
			return "", false, nil
		case list[n].Kind == gitops.IsSymlink:
			return at, true, nil
		case last && list[n].Kind == gitops.IsDir, list[n].Kind == gitops.IsSubmodule:
			return "", false, &badFileError{name, "is a directory or in a submodule: name the files in it"}
		case !last && list[n].Kind != gitops.IsDir: // a file has no entries
			return "", false, nil
		}
		dir = at
	}
	return at, false, nil
}

// judge returns the policy's decision on the commands of a set-up, as they run: one
// after the other in one shell, each a complete program. Joined lines may form another
// program, if one opens a quotation or here-document that another closes. The stricter
// decision counts.
func judge(p *policy.Policy, m policy.Mode, a policy.Action, commands []string) policy.Decision {
	whole := p.Check(m, a)
	a.Command = ""
	for _, c := range commands {
		a.Command += "eval '" + strings.ReplaceAll(c, "'", `'\''`) + "'\n"
	}
	each := p.Check(m, a)
	if each.Verdict < whole.Verdict || each.Severity > whole.Severity { //control:setup-judged-as-it-runs
		return each
	}
	return whole
}
