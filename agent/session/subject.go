package session

import (
	"fmt"
	"path"
	"strings"

	"github.com/handrail-bot/handrail/policy/phrase"
)

// Subject returns the name of a checkpoint, derived from its changes.
func Subject(files []FileChange) string {
	verbs := map[ChangeKind]string{
		ChangeCreate: "Add",
		ChangeModify: "Update",
		ChangeDelete: "Delete",
		ChangeRename: "Rename",
	}
	if len(files) == 0 {
		return "Take the base branch in"
	}
	if len(files) == 1 {
		in := fmt.Sprintf("%s %s in %s", verbs[files[0].Kind], files[0].In, files[0].Path)
		if files[0].In != "" && len(in) <= maxTitle && !strings.ContainsAny(in, "\n\r") { //control:subject-names-the-function
			return in
		}
		return fmt.Sprintf("%s %s", verbs[files[0].Kind], phrase.Short(phrase.FirstLine(files[0].Path), 60))
	}
	if text := listed(verbs, files); text != "" {
		return text
	}
	dir := path.Dir(files[0].Path)
	for _, f := range files {
		if path.Dir(f.Path) != dir {
			return fmt.Sprintf("Change %d files", len(files))
		}
	}
	return fmt.Sprintf("Change %d files in %s", len(files), phrase.Short(phrase.FirstLine(dir), 50))
}

// listed names up to three files by their verbs, or returns "" if they do not fit.
func listed(verbs map[ChangeKind]string, files []FileChange) string {
	if len(files) > 3 {
		return ""
	}
	out, last := "", ""
	for _, f := range files {
		switch verb := verbs[f.Kind]; {
		case out == "":
			out, last = verb+" "+f.Path, verb
		case verb == last:
			out += " and " + f.Path
		default:
			out, last = out+", "+strings.ToLower(verb)+" "+f.Path, verb
		}
	}
	if len([]rune(out)) > maxTitle || strings.ContainsAny(out, "\n\r") {
		return ""
	}
	return out
}
