package session

import (
	"fmt"

	"github.com/handrail-bot/handrail/policy"
)

// Violations returns the violations in a log of the rule that an approval is for one
// thing, once: calls that needed an approval and ran without one, under an approval
// of something else, or under one already used. It does not rely on [State].
func Violations(events []Event) (found []string, err error) {
	ids, calls := map[string]*Request{}, map[string]*Request{} // by id; the newest by call
	// call → required digest, and the reason why it should not have begun
	needs, faults := map[string]string{}, map[string]string{}
	for _, e := range events {
		e, _ = e.Unwrap() // sub-tasks have no additional rights
		payload, err := Payload(e)
		if err != nil {
			return nil, err
		}
		switch p := payload.(type) {
		case *Decision:
			delete(needs, p.Call)
			if p.Verdict == policy.Ask {
				needs[p.Call] = p.Digest
			}
		case *Asked:
			if ids[p.ID] != nil {
				found = append(found, fmt.Sprintf("event %d: a second request with the id %s", e.Seq, p.ID))
			}
			ids[p.ID] = &Request{Asked: *p, Answer: &Resolved{Verdict: policy.Pending}}
			calls[p.Call] = ids[p.ID]
		case *Resolved:
			if r := ids[p.ID]; r != nil && (r.Answer.Verdict == policy.Pending || r.Answer.Verdict == policy.Approved &&
				p.Verdict != policy.Approved) {
				r.Answer = p
			}
		case *Started:
			faults[p.Call] = ""
			digest, asks := needs[p.Call]
			switch r := calls[p.Call]; {
			case !asks:
			case r == nil:
				faults[p.Call] = "it was not asked for"
			case r.Digest != digest:
				faults[p.Call] = "request " + r.ID + " was for something else"
			case r.Answer.Verdict != policy.Approved:
				faults[p.Call] = fmt.Sprintf("request %s was %s", r.ID, r.Answer.Verdict)
			default:
				r.Answer = &Resolved{Verdict: policy.Begun}
			}
		case *Result:
			if why := faults[p.Call]; p.OK && why != "" {
				found = append(found, fmt.Sprintf("event %d: the call %s ran, and %s", e.Seq, p.Call, why))
			}
		}
	}
	return found, nil
}
