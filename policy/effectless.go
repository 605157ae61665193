package policy

// CheckEffect returns an error for the first key that is set and has no effect: a file
// that says what nothing goes by promises what does not happen.
func (c Config) CheckEffect() error {
	var p problems
	if len(c.Schedules) > 0 { //control:keys-without-effect
		p.add("sessions by the clock do not exist yet, so this would do nothing; take it out", "schedules")
	}
	if len(c.Workspace.Hosts) > 0 {
		p.add("single hosts cannot be opened yet, so this would do nothing; take it out, and use network: open where the workspace needs a network", "workspace", "hosts")
	}
	if p.first != nil {
		return p.first
	}
	return nil
}

// CheckEffects is [Config.CheckEffect] of a file, with the line.
func CheckEffects(data []byte) error {
	var c Config
	doc, err := LoadStrict(data, &c)
	if err != nil {
		return err
	}
	return doc.Locate(c.CheckEffect())
}
