package config

import "cmp"

// Quotas is `quotas:` in the server's file: how much may be asked for within
// an hour, and written to GitHub. 0 is the default, -1 no limit.
type Quotas struct {
	Sender          int `yaml:"sender"`       // requests of one person
	Thread          int `yaml:"thread"`       // in one thread
	Repository      int `yaml:"repository"`   // in one repository
	Installation    int `yaml:"installation"` // of one installation
	Lookups         int `yaml:"lookups"`      // of accounts that turn out to have no rights, in one installation
	WritesPerMinute int `yaml:"writes_per_minute"`
	WritesPerHour   int `yaml:"writes_per_hour"`
	Reserve         int `yaml:"reserve"` // percent of the writes that are for approvals and ends
}

// WithDefaults returns q with defaults in place of what is 0, and 0 for what
// has no limit.
func (q Quotas) WithDefaults() Quotas {
	for _, v := range []struct {
		n    *int
		sure int
	}{
		{&q.Sender, 60}, {&q.Thread, 120}, {&q.Repository, 400}, {&q.Installation, 2000},
	} {
		*v.n = max(0, cmp.Or(*v.n, v.sure))
	}
	return q
}

func (q Quotas) check(bad *problemList) {
	for name, n := range map[string]int{
		"sender": q.Sender, "thread": q.Thread, "repository": q.Repository, "installation": q.Installation,
		"lookups": q.Lookups, "writes_per_minute": q.WritesPerMinute, "writes_per_hour": q.WritesPerHour,
	} {
		bad.when(n < -1 || n > 1_000_000, "quotas.%s: must be a number up to 1000000, or -1 for no limit", name)
	}
	bad.when(q.Reserve < 0 || q.Reserve > 50, "quotas.reserve: must be a number of percent from 1 to 50")
}
