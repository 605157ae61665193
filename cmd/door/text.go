package door

import (
	"encoding/json"
	"errors"

	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Text is the verb that shows the filters for incoming and outgoing text.
type Text struct {
	Outgoing outgoingCmd `cmd:"" help:"Make texts safe to post, like everything that goes to GitHub."`
	Incoming incomingCmd `cmd:"" help:"Remove the invisible parts of texts, as in everything that comes from GitHub."`
}

type outgoingCmd struct {
	Stdin bool   `name:"stdin" required:"" help:"Read lines {\"id\":…,\"text\":\"…\"}."`
	Repo  string `name:"repo" placeholder:"OWNER/NAME" help:"The repository that the texts go to, as owner/name."`
	Host  string `name:"host" default:"github.com" help:"Host of that GitHub."`
	As    string `name:"as" enum:"body,title,message" default:"body" help:"Kind of the texts: body, title or (commit) message."`
}

// Run answers each line with the text that Handrail would write.
func (c *outgoingCmd) Run(w *Console) error {
	to := untrusted.OutputOptions{Repo: c.Repo, Inert: command.Inert}
	if c.Repo != "" {
		to.Home = "https://" + c.Host + "/" + c.Repo
	}
	return eachText(w, func(s string) string {
		switch c.As {
		case "title":
			return untrusted.Title(s)
		case "message":
			return untrusted.Message(s)
		}
		return to.Post(untrusted.Post{Text: s})
	})
}

type incomingCmd struct {
	Stdin bool `name:"stdin" required:"" help:"Read lines {\"id\":…,\"text\":\"…\"}."`
}

// Run answers each line with the text that the model would read.
func (c *incomingCmd) Run(w *Console) error {
	return eachText(w, func(s string) string {
		s, _ = untrusted.Clean(s, "")
		return s
	})
}

// textLine is the answer to a line.
type textLine struct {
	ID   json.RawMessage `json:"id"`
	Text string          `json:"text"`
}

// eachText answers every line of standard input with its changed text.
func eachText(w *Console, change func(string) string) error {
	return eachLine(w, nil, func(l explainLine) (any, error) {
		if l.Text == nil {
			return nil, errors.New(`the line has no "text"`)
		}
		return textLine{l.id(), change(*l.Text)}, nil
	})
}
