package shell

import "testing"

// TestDeletesInCode rates what program texts delete: what is not known counts
// as a tree that is only known when it runs, what is listed as the whole of it.
func TestDeletesInCode(t *testing.T) {
	for _, tt := range []struct {
		name, command string
		want          Severity
	}{
		{"method that no table has", `python3 -c 'import tools; tools.delete_recursive("build")'`, Medium},
		{"argument that is not known", `python3 -c 'import os; os.rmdir(x)'`, High},
		{"bare word", `perl -MFile::Path -e 'remove_tree x'`, High},
		{"no argument", `perl -ne unlink`, High},
		{"glob in brackets", `perl -e 'unlink <*>'`, High},
		{"found files", `perl -MFile::Find -e 'find(sub{unlink}, "/")'`, Critical},
		{"callback by its name", `php -r 'array_map("unlink", glob("*"));'`, Critical},
		{"glob", `perl -e 'unlink glob("*")'`, Critical},
		{"each of a glob", `perl -e 'unlink $_ for glob "*"'`, Critical},
		{"each of a directory", `python3 -c 'import os;[os.remove(f) for f in os.listdir(".")]'`, Critical},
		{"each below a path", `python3 -c 'from pathlib import Path; [p.unlink() for p in Path(".").rglob("x")]'`, Critical},
		{"each in the home directory", `python3 -c 'from pathlib import Path; [p.unlink() for p in Path.home().iterdir()]'`, High},
		{"home directory", `python3 -c 'import shutil,os; shutil.rmtree(os.environ["HOME"])'`, Critical},
		{"working directory", `python3 -c 'import shutil,os; shutil.rmtree(os.getcwd())'`, Critical},
		{"path object", `ruby -e 'Pathname.new("/").delete'`, Critical},
		{"tree of a path object", `ruby -e 'Pathname.new("/etc").rmtree'`, Critical},
		{"node tree", `node -e 'require("fs").rmdirSync(".",{recursive:true})'`, Critical},
		{"deno tree", `deno eval 'Deno.removeSync(".",{recursive:true})'`, Critical},
		{"tree of the workspace", `deno eval 'Deno.removeSync("build",{recursive:true})'`, Medium},
		{"emptied file of git", `python3 -c 'open(".git/config","w").truncate()'`, High},
		{"one file", `python3 -c 'import os; os.remove("build/a.o")'`, None},
		{"one path object", `ruby -e 'Pathname.new("a.txt").delete'`, None},
		{"elements of lists and tables", `python3 -c 'l.remove(1); s.discard(2); del d["a"]; d.pop("b"); print(l)'`, None},
		{"elements of a page", `node -e 'document.body.remove(); a.splice(1); m.delete(k); localStorage.removeItem("x")'`, None},
		{"letters of a text", `ruby -e 'puts "abc".delete("b")'`, None},
		{"name that is looked for", `python3 -c 'import sys; print(sum("unlink" in l for l in sys.stdin))'`, None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Analyze(tt.command).Open()
			if v.Severity != tt.want {
				t.Errorf("%s: %s, want %s (%v)", tt.command, v.Severity, tt.want, v.Reasons)
			}
		})
	}
}
