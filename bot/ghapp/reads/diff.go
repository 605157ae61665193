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

// File is a file that a pull request changes.
type File struct {
	Path      string
	Previous  string // path before it was renamed
	Status    string // added, removed, modified, renamed and the like; empty in a diff
	Additions int
	Deletions int
	Patch     string // hunks, in a diff with the lines above them; empty for a binary file and one that GitHub finds too large
	Cut       bool   // the patch ends before its end
}

// HiddenBy reports whether a file is not to be shown, by its name or the one that it had.
func (f File) HiddenBy(hides func(path string) bool) bool {
	return hides != nil && (hides(f.Path) || f.Previous != "" && hides(f.Previous)) //control:hidden-diff
}

// Change is what happened to a file. A diff says it above the first hunk.
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

// FileList is the files of a pull request, with what all of them add up to.
type FileList struct {
	List                 []File
	Total                int
	Additions, Deletions int
}

// Files returns the first files of a pull request, at most most. GitHub shows no
// more than 3,000.
func Files(ctx context.Context, c *ghapp.Client, ref thread.Ref, most int) (FileList, error) {
	var sum struct {
		Additions, Deletions int
		Total                int `json:"changed_files"`
	}
	if _, err := page(ctx, c, ghapp.Ask{Op: "read pull request", Thread: ref, Path: fmt.Sprintf("pulls/%d", ref.Number)}, &sum); err != nil {
		return FileList{}, err
	}
	out := FileList{Total: sum.Total, Additions: sum.Additions, Deletions: sum.Deletions}
	for next := 1; next != 0 && len(out.List) < most; {
		var list []apiFile
		var err error
		next, err = page(ctx, c, ghapp.Ask{Op: "list files", Thread: ref, Path: fmt.Sprintf("pulls/%d/files?per_page=%d&page=%d", ref.Number, pageSize, next)}, &list)
		if err != nil {
			return FileList{}, err
		}
		out.List = append(out.List, filesOf(list)...)
	}
	out.List = out.List[:min(len(out.List), most)]
	return out, nil
}

// Compare returns what a commit has that another has not, as a pull request between them
// would show it. GitHub names no more than 300 files.
func Compare(ctx context.Context, c *ghapp.Client, ref thread.Ref, base, head string) ([]File, error) {
	var got struct{ Files []apiFile }
	if _, err := page(ctx, c, ghapp.Ask{Op: "compare commits", Thread: ref, Path: fmt.Sprintf("compare/%s...%s", base, head)}, &got); err != nil {
		return nil, err
	}
	return filesOf(got.Files), nil
}

// apiFile is a file as the REST API shows it.
type apiFile struct {
	Filename, Status, Patch string
	Previous                string `json:"previous_filename"`
	Additions, Deletions    int
}

func filesOf(list []apiFile) (out []File) {
	for _, f := range list {
		out = append(out, File{Path: f.Filename, Previous: f.Previous, Status: f.Status, Additions: f.Additions, Deletions: f.Deletions, Patch: f.Patch})
	}
	return out
}

// Diff is the diff of a pull request, a file at a time: the files that had room,
// and those that were left out, without their patches.
type Diff struct {
	Files  []File
	Left   []File
	Hidden []File // that are not to be shown, without their patches
}

const (
	maxDiff  = 8 << 20 // GitHub makes none that is as large
	maxFiles = 1000    // of a pull request whose diff GitHub does not make
)

// PullDiff returns as much of the diff of a pull request as most bytes hold: whole
// files, and the beginning of the first that has no room when nothing else has. Hides
// says which files are not to be shown; nil for none.
func PullDiff(ctx context.Context, c *ghapp.Client, ref thread.Ref, most int, hides func(path string) bool) (Diff, error) {
	got, err := c.Ask(ctx, ghapp.Ask{Op: "read diff", Thread: ref, Path: fmt.Sprintf("pulls/%d", ref.Number), Accept: "application/vnd.github.diff", Most: maxDiff})
	var e *ghapp.Error
	switch {
	case errors.As(err, &e) && e.Status == http.StatusNotAcceptable, err == nil && got.Cut: // too large for GitHub, or for us
		files, err := Files(ctx, c, ref, maxFiles)
		return fit(files.List, most, hides), err
	case err != nil:
		return Diff{}, err
	}
	return fit(splitDiff(string(got.Body)), most, hides), nil
}

// fit chooses what has room.
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

// splitDiff cuts a diff into its files. A line of a file begins with a space, + or
// -, so none looks like the first line of a file's part.
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
				from = named(l[4:], "a/", from)
			case strings.HasPrefix(l, "+++ "):
				to = named(l[4:], "b/", to)
			case strings.HasPrefix(l, "rename from "):
				from = named(l[12:], "", from)
			case strings.HasPrefix(l, "rename to "):
				to = named(l[10:], "", to)
			}
		}
		if f.Path = to; to != from {
			f.Previous = from
		}
		out = append(out, f)
	}
	return out
}

// sameName reads "a/NAME b/NAME", which is clear where both are the same.
func sameName(l string) (from, to string) {
	a, b, ok := strings.Cut(l, " ")
	if n := len(l) / 2; !ok || len(l)%2 == 1 && l[n] == ' ' {
		a, b = l[:n], l[min(n+1, len(l)):]
	}
	return named(a, "a/", a), named(b, "b/", b)
}

// named is a path of a diff without its prefix; /dev/null says nothing.
func named(s, prefix, before string) string {
	s = strings.TrimSuffix(s, "\t") // after a name with spaces
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
