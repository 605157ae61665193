package work

// ignoreAt returns the commit with the hiding rules, or "" if the files' own rules
// apply. The author of external files must not decide which of our files are visible.
func (j Job) ignoreAt() string {
	if !j.Foreign {
		return ""
	}
	return j.RulesAt
}

// rulesAt returns the commits with the hiding rules of a session: that of the base
// branch, which a session cannot change, and that of the files themselves unless they
// are external.
func (j Job) rulesAt(saved string) (commits []string) {
	if j.RulesAt != "" {
		commits = append(commits, j.RulesAt)
	}
	if saved != "" && saved != j.RulesAt && !j.Foreign {
		commits = append(commits, saved)
	}
	return commits
}
