package finding

// Severity is how much harm a command can do. The order is the order of harm.
type Severity int

// The tiers of severity.
const (
	None Severity = iota
	Medium
	High
	Critical
)

// tiers are the names of the tiers, from the least harm to the most.
var tiers = [...]string{"none", "medium", "high", "critical"}

// String returns "none", "medium", "high" or "critical".
func (s Severity) String() string { return tiers[min(max(s, None), Critical)] }

// Reason is one rule that matched, with words for a person.
type Reason struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// Analysis is what a command line can do, read from its syntax tree.
type Analysis struct {
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
	// Unknown lists the programs whose name is plain and that no rule knows,
	// and the interpreters whose program text does nothing that a rule knows.
	// They are in no other part of the analysis: what they can do depends on
	// the wall around the workspace.
	Unknown []string
	// ReadOnly is true only if every command is known to only read.
	ReadOnly bool
}

// The limits of one analysis. Whoever exceeds one is critical.
const (
	maxSteps   = 20_000  // commands, words and expansions
	maxBytes   = 4 << 20 // bytes of all values together
	maxReasons = 32      // reasons in an analysis
)
