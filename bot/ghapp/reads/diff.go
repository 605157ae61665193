package reads

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp"
	"github.com/handrail-bot/handrail/bot/thread"
)

// File is a file changed by a pull request.
type File struct {
	Path      string
	Previous  string // path before a rename
	Status    string // added, removed, modified, renamed, …; empty in a diff
	Additions int
	Deletions int
	Patch     string // hunks, in a diff with their header lines; empty if binary or too large for GitHub
	Cut       bool   // Patch is truncated
}

// HiddenBy reports whether a file must be hidden because of its current or previous
// path.
func (f File) HiddenBy(hides func(path string) bool) bool {
	return hides != nil && (hides(f.Path) || f.Previous != "" && hides(f.Previous)) //control:hidden-diff
}

// Change returns the kind of change: Status, or for a diff the one in the header lines.
func (f File) Change() string {
	head, _, _ := strings.Cut(f.Patch, "\n@@ ")
	switch {
	case f.Status != "":
		return f.Status
	case strings.Contains(head, "\nnew file mode"):
		return "added"
	case strings.Contains(head, "\ndeleted file mode"):
		return "removed"
	case f.Previous != "":
		return "renamed"
	}
	return "modified"
}

// FileList is the files of a pull request with the totals of the pull request.
type FileList struct {
	List                 []File
	Total                int
	Additions, Deletions int
}

// totals are the numbers of a pull request.
type totals struct {
	Additions, Deletions int
	Files                int `json:"changed_files"`
}

func total(ctx context.Context, c *ghapp.Client, ref thread.Ref) (sum totals, err error) {
	a := ghapp.Ask{Op: "read pull request", Thread: ref, Path: fmt.Sprintf("pulls/%d", ref.Number)}
	_, err = page(ctx, c, a, &sum)
	return sum, err
}

// Files returns the first files of a pull request, at most most. GitHub's limit is
// 3,000.
func Files(ctx context.Context, c *ghapp.Client, ref thread.Ref, most int) (FileList, error) {
	sum, err := total(ctx, c, ref)
	if err != nil {
		return FileList{}, err
	}
	out := FileList{Total: sum.Files, Additions: sum.Additions, Deletions: sum.Deletions}
	for next := 1; next != 0 && len(out.List) < most; {
		var list []apiFile
		var err error
		next, err = page(
			ctx,
			c,
			ghapp.Ask{
				Op:     "list files",
				Thread: ref,
				Path:   fmt.Sprintf("pulls/%d/files?per_page=%d&page=%d", ref.Number, pageSize, next),
			},
			&list,
		)
		if err != nil {
			return FileList{}, err
		}
		out.List = append(out.List, filesOf(list)...)
	}
	out.List = out.List[:min(len(out.List), most)]
	return out, nil
}

// Compare returns the changes of head since its merge base with base, as a pull request
// would show them. GitHub returns at most 300 files.
func Compare(ctx context.Context, c *ghapp.Client, ref thread.Ref, base, head string) ([]File, error) {
	var got struct{ Files []apiFile }
	if _, err := page(ctx, c, ghapp.Ask{Op: "compare commits", Thread: ref, Path: fmt.Sprintf("compare/%s...%s", base, head)}, &got); err != nil {
		return nil, err
	}
	return filesOf(got.Files), nil
}

// Forward returns the changes from a commit to a later one. It reports false if head does
// not contain base, as after a force push.
func Forward(ctx context.Context, c *ghapp.Client, ref thread.Ref, base, head string) ([]File, bool, error) {
	var got struct {
		Files  []apiFile
		Status string
	}
	ask := ghapp.Ask{Op: "compare commits", Thread: ref, Path: fmt.Sprintf("compare/%s...%s", base, head)}
	if _, err := page(ctx, c, ask, &got); err != nil {
		return nil, false, err
	}
	return filesOf(got.Files), got.Status == "ahead" || got.Status == "identical", nil
}

// CommitsBetween returns the commits that head has and base lacks, the oldest first, at most
// 250. It returns none if head does not contain base.
func CommitsBetween(ctx context.Context, c *ghapp.Client, ref thread.Ref, base, head string) (out []string, err error) {
	var got struct {
		Status  string
		Commits []struct{ SHA string }
	}
	ask := ghapp.Ask{Op: "compare commits", Thread: ref, Path: fmt.Sprintf("compare/%s...%s", base, head)}
	if _, err := page(ctx, c, ask, &got); err != nil || got.Status != "ahead" {
		return nil, err
	}
	for _, commit := range got.Commits {
		out = append(out, commit.SHA)
	}
	return out, nil
}

// apiFile is a file in the REST API.
type apiFile struct {
	Filename, Status, Patch string
	Previous                string `json:"previous_filename"`
	Additions, Deletions    int
}

func filesOf(list []apiFile) (out []File) {
	for _, f := range list {
		out = append(
			out,
			File{
				Path:      f.Filename,
				Previous:  f.Previous,
				Status:    f.Status,
				Additions: f.Additions,
				Deletions: f.Deletions,
				Patch:     f.Patch,
			},
		)
	}
	return out
}

// Diff is the diff of a pull request by file. Left are files that did not fit; they
// have no patch.
type Diff struct {
	Files  []File
	Left   []File
	Hidden []File // files to hide, without their patches
}

const (
	maxDiff  = 8 << 20 // more than GitHub's own limit
	maxFiles = 1000    // for a pull request that is too large for a diff
)

// PullDiff returns the diff of a pull request up to most bytes: whole files, or the
// beginning of the first file if nothing else fits. A diff that shows less than the pull
// request changes is read again as a list of files. hides selects the files to hide;
// nil hides none.
func PullDiff(
	ctx context.Context,
	c *ghapp.Client,
	ref thread.Ref,
	most int,
	hides func(path string) bool,
) (Diff, error) {
	got, err := c.Ask(
		ctx,
		ghapp.Ask{
			Op:       "read diff",
			Thread:   ref,
			Path:     fmt.Sprintf("pulls/%d", ref.Number),
			Accept:   "application/vnd.github.diff",
			MaxBytes: maxDiff,
		},
	)
	var e *ghapp.Error
	switch {
	case errors.As(err, &e) && e.Status == http.StatusNotAcceptable,
		err == nil && got.Cut: // too large for GitHub, or for us
		files, err := Files(ctx, c, ref, maxFiles)
		return fit(files.List, most, hides), err
	case err != nil:
		return Diff{}, err
	}
	files := splitDiff(string(got.Body))
	sum, err := total(ctx, c, ref)
	if err == nil && !sum.whole(files) { //control:short-diff-is-listed
		var all FileList
		all, err = Files(ctx, c, ref, maxFiles)
		files = all.List
	}
	if err != nil {
		return Diff{}, err
	}
	return fit(files, most, hides), nil
}

// whole reports whether a diff shows all that a pull request changes.
func (t totals) whole(files []File) bool {
	for _, f := range files {
		t.Additions -= f.Additions
		t.Deletions -= f.Deletions
	}
	return len(files) >= t.Files && t.Additions <= 0 && t.Deletions <= 0
}

// fit selects the files that fit into most bytes.
func fit(files []File, most int, hides func(path string) bool) (out Diff) {
	room := most
	for _, f := range files {
		if f.HiddenBy(hides) {
			f.Status, f.Patch = f.Change(), ""
			out.Hidden = append(out.Hidden, f)
			continue
		}
		if len(f.Patch) <= room {
			room -= len(f.Patch)
			out.Files = append(out.Files, f)
			continue
		}
		if end := strings.LastIndexByte(f.Patch[:max(room, 0)], '\n') + 1; room == most && end > 0 {
			f.Patch, f.Cut, room = f.Patch[:end], true, 0
			out.Files = append(out.Files, f)
			continue
		}
		f.Patch = ""
		out.Left = append(out.Left, f)
	}
	return out
}

// splitDiff splits a diff by file. Content lines begin with a space, + or -, so none
// can look like a file header.
func splitDiff(text string) (out []File) {
	const head = "diff --git "
	for _, part := range strings.Split("\n"+text, "\n"+head)[1:] {
		f := File{Patch: head + strings.TrimSuffix(part, "\n") + "\n"}
		var from, to string
		lines, hunks := strings.Split(part, "\n"), false
		for i, l := range lines {
			hunks = hunks || strings.HasPrefix(l, "@@ ")
			switch {
			case hunks && strings.HasPrefix(l, "+"):
				f.Additions++
			case hunks && strings.HasPrefix(l, "-"):
				f.Deletions++
			case hunks:
			case i == 0:
				from, to = sameName(l)
			case strings.HasPrefix(l, "--- "):
				from = diffPath(l[4:], "a/", from)
			case strings.HasPrefix(l, "+++ "):
				to = diffPath(l[4:], "b/", to)
			case strings.HasPrefix(l, "rename from "):
				from = diffPath(l[12:], "", from)
			case strings.HasPrefix(l, "rename to "):
				to = diffPath(l[10:], "", to)
			}
		}
		if f.Path = to; to != from {
			f.Previous = from
		}
		out = append(out, f)
	}
	return out
}

// sameName parses "a/NAME b/NAME", which is unambiguous if both names are equal.
func sameName(l string) (from, to string) {
	a, b, ok := strings.Cut(l, " ")
	if n := len(l) / 2; !ok || len(l)%2 == 1 && l[n] == ' ' {
		a, b = l[:n], l[min(n+1, len(l)):]
	}
	return diffPath(a, "a/", a), diffPath(b, "b/", b)
}

// diffPath returns a path of a diff without its prefix, or before for /dev/null.
func diffPath(s, prefix, before string) string {
	s = strings.TrimSuffix(s, "\t") // git appends a tab to names with spaces
	if s == "/dev/null" {
		return before
	}
	if strings.HasPrefix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			s = u
		}
	}
	return strings.TrimPrefix(s, prefix)
}
