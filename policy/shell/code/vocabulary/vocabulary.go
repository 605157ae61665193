// Package vocabulary knows what the names of functions say they do, in any
// language: that they delete files, run programs or list a directory. It
// serves where no table has the function. The package is pure.
package vocabulary

import (
	"slices"
	"strings"
)

// deleting are the words with which the name of a function says that it
// deletes files, the letters alone and in lower case.
var deleting = strings.Fields("rmtree removetree deletetree deltree unlink rmdir rimraf rmrf rmsync removesync deletesync removedir removefile removefolder removepath " +
	"removerecursive deletedir deletefile deletefolder deleterecursive recursivedelete recursiveremove recursiverm filedelete removeentry deldir " +
	"destroyall destroydir destroytree destroyrecursive")

// deletingWhole are whole names that do. The second list does so for a module
// of files.
var (
	deletingWhole = strings.Fields("rm_r rm_f remove_all RemoveAll")
	deletingFiles = strings.Fields("rm remove removeAll delete deleteIfExists erase destroy truncate")
	fileModules   = strings.Fields("os fs fsp fsPromises Deno File Files Dir FileUtils Pathname shutil filesystem")
)

// Deletes reports whether a name says that a function deletes files. The
// receiver is the name before it.
func Deletes(name, receiver string) bool {
	name = strings.TrimRight(name, "!?")
	words := split(name[max(0, len(name)-mostLetters):])
	for i := range words {
		rest := strings.Join(words[i:], "")
		if slices.ContainsFunc(deleting, func(w string) bool { return strings.HasPrefix(rest, w) }) && !strings.HasPrefix(rest, "unlinked") {
			return true
		}
	}
	return slices.Contains(deletingWhole, name) || slices.Contains(deletingFiles, name) && slices.Contains(fileModules, receiver)
}

// mostLetters is how much of a long name is looked at: its end.
const mostLetters = 80

// split takes a name apart into its words, in lower case: removeTree and
// remove_tree are the same two.
func split(name string) []string {
	var b strings.Builder
	for i := range len(name) {
		c, upper := name[i], name[i] >= 'A' && name[i] <= 'Z'
		if upper && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		if upper || c >= 'a' && c <= 'z' {
			b.WriteByte(c)
		} else if c < 0x80 {
			b.WriteByte(' ')
		}
	}
	return strings.Fields(strings.ToLower(b.String()))
}

// DeletesIts reports whether a method of that name deletes the file that it
// is called on, and whether it deletes all that is in it.
func DeletesIts(method string) (one, tree bool) {
	one = slices.Contains(strings.Fields("delete remove erase unlink rmdir"), method)
	return one, !one && Deletes(method, "")
}

// executing are the names of functions that run programs, executingTexts
// those that mean nothing else where they stand as a text.
var (
	executing      = strings.Fields("system exec spawn popen proc_open pcntl_exec")
	executingTexts = strings.Fields("shell_exec passthru execSync spawnSync execFile execFileSync execvp execve posix_spawn check_output getoutput")
)

// Executes reports whether a name says that a function runs programs, and
// whether it means nothing else.
func Executes(name string) (yes, always bool) {
	always = slices.Contains(executingTexts, name)
	return always || slices.Contains(executing, name), always
}

var showing = strings.Fields("print println printf puts echo say p pp cat strlen len length write writeln format log info warn error debug print_r var_dump message dump")

// Shows reports whether a function of that name shows a text, or only looks at
// it.
func Shows(name string) bool {
	return slices.Contains(showing, name[strings.LastIndexAny(name, ".:")+1:])
}

var listing = strings.Fields("listdir walk scandir glob iglob rglob iterdir readdir readdirSync children entries each_child each_entry opendir find list_files")

// Lists reports whether a function of that name lists what is in a directory.
func Lists(name string) bool { return slices.Contains(listing, name) }

var paths = strings.Fields("Path PosixPath Pathname File absolute resolve expanduser joinpath toPath toFile")

// MakesPath reports whether the value of a function of that full name is an
// object that stands for a path.
func MakesPath(name string) bool {
	name = strings.TrimSuffix(name, ".new")
	return slices.Contains(paths, name[strings.LastIndexByte(name, '.')+1:])
}

// Directory returns the directory that goes by a name: a variable of the
// environment, or the word for a function in the tables of calls.
func Directory(name string) (string, bool) {
	if strings.HasPrefix(name, "GITHUB_") && slices.Contains(strings.Fields("GITHUB_ENV GITHUB_PATH GITHUB_OUTPUT GITHUB_STATE"), name) {
		return "/github/file_commands/" + name, true
	}
	dir, ok := map[string]string{"HOME": "~", "USERPROFILE": "~", "home": "~", "PWD": ".", "cwd": "."}[name]
	return dir, ok
}

// PowerShell reports whether a name is one of PowerShell's own commands: a
// verb and a noun.
func PowerShell(name string) bool {
	verb, _, ok := strings.Cut(name, "-")
	return ok && strings.Contains(" get set new add out write read select where sort measure convertto convertfrom convert test join split format group import export compare foreach tee resolve update enter exit push pop show wait clear ", " "+verb+" ")
}
