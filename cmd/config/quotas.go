package config

import "cmp"

// Quotas is `quotas:` in the server's file: the limits of requests per hour and of writes
// to GitHub. 0 means the default, -1 no limit.
type Quotas struct {
	Sender          int `yaml:"sender" jsonschema:"description=Requests of one user within an hour; -1 for no limit.,minimum=-1,default=60"`
	Thread          int `yaml:"thread" jsonschema:"description=Requests in one thread within an hour; -1 for no limit.,minimum=-1,default=120"`
	Repository      int `yaml:"repository" jsonschema:"description=Requests in one repository within an hour; -1 for no limit.,minimum=-1,default=400"`
	Installation    int `yaml:"installation" jsonschema:"description=Requests in all repositories of an installation within an hour; -1 for no limit.,minimum=-1,default=2000"`
	Lookups         int `yaml:"lookups" jsonschema:"description=Accounts without rights that are looked up within an hour.,minimum=-1,default=600"`
	WritesPerMinute int `yaml:"writes_per_minute" jsonschema:"description=Writes to GitHub in an installation.,minimum=-1,default=80"`
	WritesPerHour   int `yaml:"writes_per_hour" jsonschema:"description=Writes to GitHub in an installation.,minimum=-1,default=500"`
	Reserve         int `yaml:"reserve" jsonschema:"description=Percent of the writes that are for approvals and ends of sessions.,minimum=0,maximum=50,default=20"`
}

// WithDefaults returns q with the defaults for zero request limits, and 0 for no limit.
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

func (q Quotas) check(bad *problems) {
	for _, v := range []struct {
		key string
		n   int
	}{
		{"sender", q.Sender}, {"thread", q.Thread}, {"repository", q.Repository}, {"installation", q.Installation},
		{"lookups", q.Lookups}, {"writes_per_minute", q.WritesPerMinute}, {"writes_per_hour", q.WritesPerHour},
	} {
		bad.when(v.n < -1 || v.n > 1_000_000, "quotas."+v.key, "must be a number up to 1000000, or -1 for no limit")
	}
	bad.when(q.Reserve < 0 || q.Reserve > 50, "quotas.reserve", "must be a number of percent from 1 to 50")
}
