package policy

import (
	"cmp"
	"slices"
)

// Choice holds the parameters of a session: those of a request, or else those of the
// configuration.
type Choice struct {
	Mode, Model string
	Turns       int // 0 means the configured limit, or else that of the mode
}

// NotAllowed reports a mode or a model that the configuration does not allow.
type NotAllowed struct {
	What    string   // "mode" or "model"
	Name    string   // the chosen one
	Named   bool     // named by the request, not by default
	Allowed []string // empty if the lists of server and repository have nothing in common
}

// Error implements error.
func (n *NotAllowed) Error() string { return n.What + " " + n.Name + " is not allowed" }

// Choose returns the parameters for a request. model is the default if neither the
// request nor the repository names one. The error is a [*NotAllowed], or reports an
// unknown mode.
func (c Config) Choose(asked Choice, model string) (Choice, error) {
	m, err := ParseMode(cmp.Or(asked.Mode, c.Mode, "code"))
	if err != nil {
		return asked, err
	}
	out := Choice{Mode: m.Name, Model: cmp.Or(asked.Model, c.Model, model), Turns: asked.Turns}
	models := c.allowed(func(c Config) []string { return c.Models })
	if asked.Model == "" && len(models) > 0 && !slices.Contains(models, out.Model) {
		out.Model = models[0]
	}
	err = c.Permits(out)
	if no, ok := err.(*NotAllowed); ok { //nolint:errorlint // it is made there
		no.Named = map[string]string{"mode": asked.Mode, "model": asked.Model}[no.What] != ""
	}
	return out, err
}

// Permits returns a [*NotAllowed] unless a session may use the mode and model of a
// choice.
func (c Config) Permits(is Choice) error {
	modes := c.allowed(func(c Config) []string { return c.Modes })
	if modes != nil && !slices.Contains(modes, is.Mode) { //control:modes-bind
		return &NotAllowed{What: "mode", Name: is.Mode, Allowed: modes}
	}
	return c.PermitsModel(is.Model)
}

// PermitsModel returns a [*NotAllowed] unless a session may use the model.
func (c Config) PermitsModel(name string) error {
	models := c.allowed(func(c Config) []string { return c.Models })
	if models != nil && !slices.Contains(models, name) { //control:models-bind
		return &NotAllowed{What: "model", Name: name, Allowed: models}
	}
	return nil
}

// allowed returns the intersection of a list in this configuration and all above it, or
// nil if none of them sets it.
func (c Config) allowed(list func(Config) []string) []string {
	var own []string
	if names := list(c); len(names) > 0 {
		own = slices.Clone(names)
	}
	if c.Above == nil {
		return own
	}
	above := c.Above.allowed(list)
	switch {
	case own == nil:
		return above
	case above == nil:
		return own
	}
	return slices.DeleteFunc(own, func(s string) bool { return !slices.Contains(above, s) })
}

// TurnLimit returns the configured maximum number of turns of a session, or 0 if the
// limit of the mode applies.
func (c Config) TurnLimit() int { return minLimit(c.Turns, c.Budget.Session.Turns) }
