package session

import (
	"strings"

	"github.com/handrail-bot/handrail/policy"
)

// Refusal says who did not grant a request, and why.
func (c *CallState) Refusal() string {
	because := "."
	if why := c.Request.Answer.Reason; why != "" {
		because = ": " + strings.TrimRight(why, ".") + "."
	}
	switch c.Approval().State {
	case policy.Withdrawn:
		return "The request was withdrawn because a new instruction arrived" + because
	case policy.Expired:
		return "Nobody answered the request in time."
	}
	who := c.Request.Answer.By
	if who == "" {
		return "The request was denied" + because
	}
	if rest, ok := strings.CutPrefix(who, "the "); ok { // no name: it begins the sentence
		who = "The " + rest
	}
	return who + " denied this" + because
}

// GoOn says what to do without a yes.
func (c *CallState) GoOn() string {
	if hint := c.Request.Answer.Hint; hint != "" {
		return hint
	}
	switch c.Approval().State {
	case policy.Withdrawn:
		return "Follow the new instruction."
	case policy.Expired:
		return "Go on without it, or finish and say what is missing."
	}
	return "Go on without it, or choose another way."
}
