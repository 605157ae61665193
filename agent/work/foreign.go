package work

// ignoreAt is the commit whose rules hide files, "" for those of the files themselves:
// who brings files from outside does not say what of ours they show.
func (j Job) ignoreAt() string {
	if !j.Foreign {
		return ""
	}
	return j.RulesAt
}

// rulesAt returns the commits whose rules hide files in a session: that of the base
// branch, whose rules nobody can change who works here, and that of the files themselves,
// unless they are somebody's from outside.
func (j Job) rulesAt(saved string) (commits []string) {
	if j.RulesAt != "" {
		commits = append(commits, j.RulesAt)
	}
	if saved != "" && saved != j.RulesAt && !j.Foreign {
		commits = append(commits, saved)
	}
	return commits
}
