package vocabulary

import (
	"strings"
	"testing"
)

func TestDeletes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, receiver string
		want           bool
	}{
		{"unlink", "", true}, {"rm_rf", "FileUtils", true}, {"rm_r", "", true}, {"remove_tree", "", true}, {"removeTree", "x", true}, {"unlinkSync", "fs", true},
		{"delete-directory", "", true}, {"deleteRecursively", "f", true}, {"rm_rf!", "", true}, {"remove", "os", true}, {"delete", "File", true}, {"remove_all", "", true},
		{"remove", "list", false}, {"delete", "map", false}, {"removeItem", "localStorage", false}, {"removeAll", "list", false}, {"removeAllListeners", "e", false},
		{"rm", "", false}, {"remove", "path", false}, {"discard", "set", false}, {"model_dir", "", false}, {"modelDir", "", false}, {"platform_dir", "", false}, {"formTree", "", false}, {"unlinked", "", false}, {"emptyDir", "", false},
		{"RMTree", "", true}, {"os_unlink", "", true}, {"UNLINK", "", true}, {"rm_-_rf", "", true}, {"deleteFolderRecursive", "", true}, {"", "os", false}, {strings.Repeat("aB", 1<<20) + "_unlink", "", true},
	} {
		if got := Deletes(tt.name, tt.receiver); got != tt.want {
			t.Errorf("Deletes(%q, %q) = %v", tt.name, tt.receiver, got)
		}
	}
}

func TestDeletesIts(t *testing.T) {
	t.Parallel()
	for method, want := range map[string][2]bool{"delete": {true, false}, "unlink": {true, false}, "rmtree": {false, true}, "exist?": {}} {
		if one, tree := DeletesIts(method); one != want[0] || tree != want[1] {
			t.Errorf("DeletesIts(%q) = %v, %v", method, one, tree)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if yes, always := Executes("system"); !yes || always {
		t.Errorf("system: %v, %v", yes, always)
	}
	if yes, always := Executes("shell_exec"); !yes || !always {
		t.Errorf("shell_exec: %v, %v", yes, always)
	}
	if yes, _ := Executes("systematic"); yes {
		t.Error("systematic executes")
	}
	if !Lists("rglob") || Lists("global") {
		t.Error("rglob lists, and global does not")
	}
	if !MakesPath("pathlib.Path") || !MakesPath("Pathname.new") || MakesPath("str") {
		t.Error("Path and Pathname.new make paths, and str does not")
	}
	if dir, ok := Directory("HOME"); dir != "~" || !ok {
		t.Errorf("HOME: %q", dir)
	}
	if !PowerShell("get-item") || PowerShell(strings.ToLower("Apt-Get")) {
		t.Error("get-item is PowerShell's own, and apt-get is not")
	}
}
