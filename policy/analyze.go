package policy

// commandFacts is what the rules want to know about a command line.
type commandFacts struct {
	Severity Severity
	Reasons  []Reason
	Writes   []string // paths the command would write or delete
	Network  bool
	Git      []string // git sub-commands
	Commands []string // resolved commands: program, then arguments
	ReadOnly bool
}

// analyzeCommand returns the facts about a command line. What is not known
// about a command counts up, so without an analysis every command is high.
func analyzeCommand(line string) commandFacts {
	return commandFacts{
		Severity: High,
		Reasons:  []Reason{{Rule: "shell.unknown", Text: "the command was not analyzed"}},
		Commands: []string{line},
	}
}
