package policy

// ShellVerdict is what a command line can do, read from its syntax tree.
type ShellVerdict struct {
	// Severity is the worst tier of any rule that matched.
	Severity Severity
	// Reasons are the rules that matched, worst first.
	Reasons []Reason
	// Writes are the paths that redirections and well-known commands would
	// write or delete, as written after expansion, relative to the working
	// directory.
	Writes []string
	// Network reports whether a command reaches the network.
	Network bool
	// Git lists the git sub-commands that are run.
	Git []string
	// Commands are the resolved commands: the program, then its arguments,
	// one space between words. Wrappers are listed too, before what they run.
	Commands []string
	// ReadOnly is true only if every command is known to only read.
	ReadOnly bool
}

// AnalyzeCommand reads a command line as a POSIX or bash program and says
// what it can do. What it cannot resolve counts up, never down.
func AnalyzeCommand(line string) ShellVerdict {
	return ShellVerdict{
		Severity: Critical,
		Reasons:  []Reason{{Rule: "shell.unknown", Text: "the command was not analyzed"}},
		Commands: []string{line},
	}
}
