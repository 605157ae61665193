package session

import (
	"fmt"

	"github.com/handrail-bot/handrail/policy"
)

// Violations returns what of a log breaks the rule that an approval is for one
// thing, once: calls that needed a yes and ran without one, under a yes to something
// else, or under one that was taken already. It does not go by [State].
func Violations(events []Event) (found []string, err error) {
	ids, calls := map[string]*Request{}, map[string]*Request{} // the newest of a call
	needs, faults := map[string]string{}, map[string]string{}  // call → digest, and why it should not have begun
	for _, e := range events {
		e, _ = e.Unwrap() // a sub-task has no more rights
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
			if r := ids[p.ID]; r != nil && (r.Answer.Verdict == policy.Pending || r.Answer.Verdict == policy.Approved && p.Verdict != policy.Approved) {
				r.Answer = p
			}
		case *Started:
			faults[p.Call] = ""
			digest, asks := needs[p.Call]
			switch r := calls[p.Call]; {
			case !asks:
			case r == nil:
				faults[p.Call] = "nobody was asked"
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
