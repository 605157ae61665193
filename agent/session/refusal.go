package session

import (
	"strings"

	"github.com/handrail-bot/handrail/policy"
)

// Refusal explains why a request was not granted, with the approver and the reason.
func (c *CallState) Refusal() string {
	because := "."
	if why := c.Request.Answer.Reason; why != "" {
		because = ": " + strings.TrimRight(why, ".") + "."
	}
	switch c.Approval().State {
	case policy.Withdrawn:
		return "The request was withdrawn by a new instruction or a stop" + because
	case policy.Expired:
		return "The request was not answered in time."
	}
	who := c.Request.Answer.By
	if who == "" {
		return "The request was denied" + because
	}
	if rest, ok := strings.CutPrefix(who, "the "); ok { // not a name; capitalize the sentence
		who = "The " + rest
	}
	return who + " denied this" + because
}

// GoOn returns the advice on how to go on without an approval.
func (c *CallState) GoOn() string {
	if hint := c.Request.Answer.Hint; hint != "" {
		return hint
	}
	switch c.Approval().State {
	case policy.Withdrawn:
		return "Follow the newest instruction."
	case policy.Expired:
		return "Go on without it, or finish and say what is missing."
	}
	return "Go on without it, or choose another way."
}
