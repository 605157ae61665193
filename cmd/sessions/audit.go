package sessions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/bot/retain"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/local"
	"github.com/handrail-bot/handrail/cmd/records"
	"github.com/handrail-bot/handrail/policy/secret"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// Audit is handrail audit.
type Audit struct {
	Verify verifyCmd `cmd:"" help:"Check the hash chains of all logs, and the signatures of their ends: that nothing was changed, added or taken away."`
}

type verifyCmd struct {
	records.Flags `embed:""`

	Signed bool     `help:"Take a log that is not signed up to the end of its last run for broken."`
	Files  []string `arg:"" optional:"" help:"Exported logs to check instead of the database: files, or git:REPOSITORY for all sessions in it."`
}

// Run verifies logs. It names the broken ones, and then ends with 1.
func (c *verifyCmd) Run(ctx context.Context, w *door.Console) error {
	if len(c.Files) > 0 && c.Signed {
		return door.Usage("--signed is for the database: an exported log has no signature")
	}
	if len(c.Files) > 0 {
		addresses, err := each(ctx, w, c.Files)
		if err != nil {
			return err
		}
		return c.files(ctx, w, addresses)
	}
	if !c.Unset() || c.Signed {
		return c.database(ctx, w)
	}
	list, err := local.List(0) // an unreadable log counts as broken
	var here []string
	for _, r := range list {
		here = append(here, r.File)
	}
	if len(here) > 0 {
		err = errors.Join(err, c.files(ctx, w, here))
	}
	if (err != nil || len(here) > 0) && !c.IsThere() {
		return err
	}
	return errors.Join(err, c.database(ctx, w))
}

func (c *verifyCmd) files(ctx context.Context, w *door.Console, addresses []string) error {
	broken, good := false, false
	for _, path := range addresses {
		id, events, err := readLog(ctx, w, path)
		if err == nil {
			err = session.Verify(events)
		}
		if err == nil && len(events) == 0 {
			err = errors.New("there is no event in it")
		}
		if err != nil {
			broken = true
			fmt.Fprintf(w.Out, "%s: BROKEN: %v\n", path, err)
			continue
		}
		good = true
		fmt.Fprintf(w.Out, "%s: session %s, %d events: ok, no signature%s\n", path, id, len(events), sealedNote(events))
		found, err := session.Violations(events)
		if err != nil {
			return err
		}
		for _, v := range found {
			fmt.Fprintf(w.Out, "%s: NOT AS APPROVED: %s\n", path, v)
		}
	}
	if good {
		fmt.Fprintln(
			w.Out,
			"An exported log has no signature: it cannot be told whether its end is missing, or whether its whole chain was made anew.",
		)
	}
	if broken {
		return door.ErrFailed
	}
	return nil
}

func (c *verifyCmd) database(ctx context.Context, w *door.Console) (err error) {
	s, err := c.Open(ctx, w.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	keys, err := records.EnvironmentKeys(os.Getenv)
	if err != nil {
		return door.UsageError{Err: err}
	}
	var sum logCounts
	n, err := store.Verify(ctx, s.Logs, func(h store.Head, events []session.Event, err error) {
		var r retain.LogReport
		if err == nil {
			r, err = retain.CheckLog(ctx, s.Meta, keys.Signing, h.Session, events)
		}
		if end := lastEnd(events); err == nil && c.Signed && r.Signed < end {
			err = errors.New(unsignedWords(r, keys.Signing, end))
		}
		sum.count(r, err)
		if err != nil {
			fmt.Fprintf(w.Out, "%s: BROKEN: %v\n", h.Session, err)
			return
		}
		fmt.Fprintf(w.Out, "%s: %d events: ok, %s%s\n", h.Session, h.Seq, signedWords(h, r, keys.Signing), sealedNote(events))
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "%d logs, %s\n", n, sum)
	bad, err := c.verifyDeleted(ctx, w, s, keys.Signing)
	if err != nil {
		return err
	}
	sum.broken += bad
	if sum.sealed+sum.unsigned > 0 {
		fmt.Fprintln(w.Out, "Without a checked signature it cannot be told whether the whole chain of a log was made anew.")
	}
	if sum.broken > 0 {
		return door.ErrFailed
	}
	return nil
}

// verifyDeleted verifies the records of deleted sessions, and prints their number for each
// reason of a deletion. It returns the number of broken records.
func (c *verifyCmd) verifyDeleted(
	ctx context.Context,
	w *door.Console,
	s store.Retired,
	key *secret.Key,
) (bad int, err error) {
	list, err := s.Deleted(ctx)
	if err != nil {
		return 0, err
	}
	whys := map[string]*logCounts{}
	for _, d := range list {
		r, err := retain.CheckDeleted(key, &d)
		if err == nil && c.Signed && r.Signed == 0 && r.Key != "" {
			err = errors.New("the signature of its deletion cannot be checked: " + keyWords(r, key))
		}
		if err == nil && c.Signed && d.Key == "" {
			err = errors.New("its deletion is not signed")
		}
		if err != nil {
			bad++
			fmt.Fprintf(w.Out, "%s: BROKEN: %v\n", untrusted.EscapeLine(d.Session), err)
			continue
		}
		sum := whys[d.Why]
		if sum == nil {
			sum = &logCounts{}
			whys[d.Why] = sum
		}
		sum.count(r, nil)
	}
	for _, why := range slices.Sorted(maps.Keys(whys)) {
		fmt.Fprintf(w.Out, "sessions deleted (%s): %s\n", untrusted.EscapeLine(why), whys[why].kinds())
	}
	return bad, nil
}

// logCounts counts logs by the state of their signatures.
type logCounts struct{ broken, signed, sealed, unsigned int }

func (c *logCounts) count(r retain.LogReport, err error) {
	switch {
	case err != nil:
		c.broken++
	case r.Key != "":
		c.sealed++
	case r.Signed > 0:
		c.signed++
	default:
		c.unsigned++
	}
}

// String lists the nonzero counts, and always the broken logs.
func (c logCounts) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%d broken, %s", c.broken, c.kinds()), ", ")
}

// kinds lists the nonzero counts of intact logs.
func (c logCounts) kinds() string {
	var out []string
	for _, kind := range []struct {
		n    int
		what string
	}{{c.signed, "signed"}, {c.sealed, "signed with a key that is not here"}, {c.unsigned, "not signed"}} {
		if kind.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", kind.n, kind.what))
		}
	}
	return strings.Join(out, ", ")
}

// signedWords describes the signature of a log. key is the available key, nil if there is
// none.
func signedWords(h store.Head, r retain.LogReport, key *secret.Key) string {
	switch {
	case r.Key != "":
		return "signed, but " + keyWords(r, key)
	case r.Signed == 0:
		return "not signed"
	case r.Signed < h.Seq:
		return fmt.Sprintf("signed up to event %d", r.Signed)
	}
	return "signed"
}

// unsignedWords explains that a log is not signed up to the end of its last run, which is
// event end.
func unsignedWords(r retain.LogReport, key *secret.Key, end int64) string {
	switch {
	case r.Key != "":
		return "its signature cannot be checked: " + keyWords(r, key)
	case r.Signed == 0:
		return fmt.Sprintf("not signed, and its last run ended with event %d", end)
	}
	return fmt.Sprintf("signed up to event %d only, and its last run ended with event %d", r.Signed, end)
}

// keyWords explains that the key of a log's signature is not available.
func keyWords(r retain.LogReport, key *secret.Key) string {
	if key == nil {
		return fmt.Sprintf(
			"the key %s is not here: set HANDRAIL_LOG_KEY, or HANDRAIL_WEBHOOK_SECRET if the server has only that",
			r.Key,
		)
	}
	return fmt.Sprintf(
		"the key %s is not here: the environment sets another one, %s; set HANDRAIL_LOG_KEY as the server has it",
		r.Key,
		key.Name,
	)
}

// lastEnd returns the number of the event that ended the newest run, 0 if there is none.
func lastEnd(events []session.Event) int64 {
	for _, e := range slices.Backward(events) {
		if e.Type == session.TypeEnded {
			return e.Seq
		}
	}
	return 0
}

// sealedNote counts the sealed files of a log. They are never shown.
func sealedNote(events []session.Event) string {
	files := map[string]int{}
	for _, e := range events {
		if cp, err := session.Decode[session.Checkpoint](e); e.Type == session.TypeCheckpoint && err == nil {
			for _, s := range cp.Content {
				if s.Sealed != "" {
					files[s.Sealed]++
				}
			}
		}
	}
	out := ""
	for _, key := range slices.Sorted(maps.Keys(files)) {
		out += fmt.Sprintf(", sealed files: %d (key %s)", files[key], key)
	}
	return out
}
