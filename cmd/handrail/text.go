package main

import (
	"github.com/handrail-bot/handrail/bot/command"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// textVerbs say what becomes of a text on its way in and out.
type textVerbs struct {
	Outgoing outgoingCmd `cmd:"" help:"Make texts safe to post, as everything is that goes to GitHub."`
	Incoming incomingCmd `cmd:"" help:"Take out of texts what a reader would not see, as from everything that comes from GitHub."`
}

type outgoingCmd struct {
	Stdin bool   `name:"stdin" required:"" help:"Read lines {\"id\":…,\"text\":\"…\"}."`
	Repo  string `name:"repo" help:"The repository that the texts go to, as owner/name."`
	Host  string `name:"host" default:"github.com" help:"Of the GitHub that they go to."`
	As    string `name:"as" enum:"body,title,message" default:"body" help:"What they are: body, title or (commit) message."`
}

// Run answers each line with the text that would be written.
func (c *outgoingCmd) Run(w *door.Console) error {
	to := untrusted.OutputOptions{Repo: c.Repo, Inert: command.Inert}
	if c.Repo != "" {
		to.Home = "https://" + c.Host + "/" + c.Repo
	}
	return door.EachText(w, func(s string) string {
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
func (c *incomingCmd) Run(w *door.Console) error {
	return door.EachText(w, func(s string) string {
		s, _ = untrusted.Clean(s)
		return s
	})
}
