package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/phrase"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// NoConfig says that the configuration of the repository cannot be read.
func NoConfig(err error) string {
	return "I did nothing, because the configuration of this repository cannot be read: " + clean(err.Error())
}

// WhichModel names the model in use and the alternatives.
func WhichModel(now string, names []string) string {
	return fmt.Sprintf("The model here is %s. %s Write `/agent model NAME` to change it.", code(now), modelsAre(names))
}

// ModelNotAllowed says that a model may not be chosen.
func ModelNotAllowed(name, now string, names []string) string {
	return fmt.Sprintf("The model %s is not allowed here; it stays %s. %s", code(name), code(now), modelsAre(names))
}

func modelsAre(names []string) string {
	if len(names) == 0 {
		return "Any model of the server is allowed."
	}
	return "Allowed: " + paths(names) + "."
}

// OtherModel says that the previous model is no longer allowed and another one continues.
func OtherModel(before, now string) string {
	return fmt.Sprintf("The earlier model %s is no longer allowed, so I continue with %s.", code(before), code(now))
}

// SameModel says that nothing changed.
func SameModel(name string) string { return fmt.Sprintf("The model is already %s.", code(name)) }

// ModelIs names the model that works on a session from now on.
func ModelIs(name string, over bool) string {
	when := "From my next turn on"
	if over {
		when = "From your next request on"
	}
	return fmt.Sprintf("%s, I use %s.", when, code(name))
}

// ClearedBy is the reason for ending a session to clear its conversation.
func ClearedBy(login string) string { return clean(login) + " cleared the conversation." }

// Cleared says that the conversation is forgotten.
func Cleared(checkpoints bool, branch string) string {
	kept := "There are no commits yet."
	if checkpoints {
		kept = fmt.Sprintf("The branch %s and its checkpoints stay.", code(branch))
	}
	return "The conversation is cleared. " + kept + " Write `/agent` and your next request."
}

// Layers are the sources of the configuration in force. Model is the default for
// repositories that name none.
type Layers struct {
	Server, Repository policy.Config
	Model              string
	Image              session.Image // for commands of a new session; the zero value means no image
}

// Config shows the configuration in force and the source of each value. v is the session,
// nil if there is none.
func Config(of Layers, v *session.State) untrusted.Post {
	var b, table strings.Builder
	b.WriteString(
		"The configuration of this thread. Sources: the **server** (its operator), the **repository** (`.github/agent.yml` on the default branch), or the **default**.\n\n",
	)
	if v != nil {
		fmt.Fprintf(
			&b,
			"This session: mode %s, model %s, branch %s",
			code(cmp.Or(v.Mode, v.ModeName())),
			code(v.ModelName()),
			code(v.Branch),
		)
		if v.Task.Turns > 0 {
			fmt.Fprintf(&b, ", %s", phrase.Count(v.Task.Turns, "turn"))
		}
		b.WriteString(".\n\n")
	}
	if of.Image.Name != "" {
		for _, s := range imageSteps(&of.Image) {
			b.WriteString(s.text + ".\n\n")
		}
	}
	table.WriteString("| key | value | from |\n|---|---|---|\n")
	for _, s := range policy.SettingsInForce(of.Server, of.Repository, of.Model) {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", code(s.Key), cell(code(line(s.Value, 200))), s.From)
	}
	return untrusted.Post{Text: b.String() + table.String() + "\nOther keys are not set. Secrets are never shown."}
}
