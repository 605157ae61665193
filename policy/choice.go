package policy

import (
	"cmp"
	"slices"
)

// Choice is what a session works with: what a request names, or, where it names
// nothing, what the configuration does.
type Choice struct {
	Mode, Model string
	Turns       int // 0 for the mode's own, or what the configuration says
}

// NotAllowed is a mode or a model that the configuration does not let people choose.
type NotAllowed struct {
	What    string   // "mode" or "model"
	Name    string   // the one that was chosen
	Named   bool     // by the request; else it is what a request gets that names none
	Allowed []string // none: the lists of the server and of the repository have nothing in common
}

// Error implements error.
func (n *NotAllowed) Error() string { return n.What + " " + n.Name + " is not allowed" }

// Choose returns what a request works with. model is for a request that names none in
// a repository that does not either. The error is a [*NotAllowed], or it says that
// there is no mode of that name.
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

// Permits returns nil where a session may work with the mode and the model of a
// choice, and else a [*NotAllowed].
func (c Config) Permits(is Choice) error {
	modes := c.allowed(func(c Config) []string { return c.Modes })
	if modes != nil && !slices.Contains(modes, is.Mode) { //control:modes-bind
		return &NotAllowed{What: "mode", Name: is.Mode, Allowed: modes}
	}
	return c.PermitsModel(is.Model)
}

// PermitsModel returns nil where a session may work with a model, and else a
// [*NotAllowed].
func (c Config) PermitsModel(name string) error {
	models := c.allowed(func(c Config) []string { return c.Models })
	if models != nil && !slices.Contains(models, name) { //control:models-bind
		return &NotAllowed{What: "model", Name: name, Allowed: models}
	}
	return nil
}

// allowed returns what is in a list of the configuration and in that of those above
// it, nil where none of them has one.
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

// TurnLimit is how many turns the configuration gives a session, 0 for as many as its
// mode has.
func (c Config) TurnLimit() int { return lower(c.Turns, c.Budget.Session.Turns) }
