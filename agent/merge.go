package agent

import (
	"context"
	"strings"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/patch"
	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// merger asks the model where the parts of an edit belong that do not say so themselves. The
// answer is recorded with the call: the tool reads the places out of it, and refuses the edit
// if there is any doubt.
type merger struct {
	*journal
	gate     *gate
	meter    *meter
	requests *requests
	model    *model
}

// maxMerges is the maximum number of such questions about the calls of one answer.
const maxMerges = 3

const askMerge = "You put an edit into a part of a file. " +
	"\"... existing code ...\" in the edit stands for lines of the file that stay. " +
	"Its other lines are new, or lines of the file that show where the new ones belong. " +
	"Answer with all lines of the part after the edit, and with nothing else: no explanation and no marker. " +
	"Copy each line of the edit, and each line of the part that the edit does not replace, exactly."

// ask asks the model about an edit, unless it did so before, there is no budget, or the answer
// would be of no use. It reports whether there is an answer now.
func (m *merger) ask(ctx context.Context, c *session.CallState, open *patch.Unsettled) (bool, error) {
	if open == nil || c.Merged != nil || m.gate.policy.ToolOff(m.gate.mode, policy.MergeSketch) { //control:merge-off
		return false, nil
	}
	asked := 0
	for _, other := range m.Last {
		if other.Merged != nil {
			asked++
		}
	}
	why, err := m.meter.exhaustedShare(ctx)
	if err != nil {
		return false, err
	}
	if asked >= maxMerges || why != "" || m.meter.exhausted() != "" || m.mayNotSee(open) {
		return false, nil
	}
	if err := m.model.learn(ctx); err != nil || m.model.form == llm.FormFiles {
		return false, ctx.Err()
	}
	text, last, err := m.answer(ctx, open)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		m.logger.WarnContext(ctx, "model did not merge an edit", "session", m.Task.Session, "call", c.ID, "err", err)
		text = ""
	}
	return true, m.record(ctx, session.NewEvent(session.TypeMerged, c.Turn, session.Merged{
		Call:         c.ID,
		Text:         text,
		PromptTokens: last.PromptTokens,
		AnswerTokens: last.AnswerTokens,
	}))
}

// mayNotSee reports whether the lines of a file must not be shown to the model as they are, since they
// have secrets or invisible characters. Of a file whose reading needs an approval there are none.
func (m *merger) mayNotSee(open *patch.Unsettled) bool {
	text := strings.Join(open.Lines, "\n")
	plain, _ := untrusted.CleanPlain(text)
	plain, _ = m.redactor.Redact(plain)
	return plain != text //control:merge-secrets
}

// answer returns the answer of the model. Neither its tokens nor its bytes exceed those of the
// longest correct one by much.
func (m *merger) answer(ctx context.Context, open *patch.Unsettled) (string, llm.Part, error) {
	part := strings.Join(open.Lines, "\n")
	req := m.requests.plain([]llm.Message{
		{Role: llm.RoleSystem, Content: askMerge},
		{
			Role:    llm.RoleUser,
			Content: "The part of the file:\n" + fence("", part) + "\n\nThe edit:\n" + fence("", open.Sketch),
		},
	})
	most := len(part) + len(open.Sketch) + maxFenced
	req.MaxTokens, req.Temperature = 2*m.requests.window.tokens(most), new(float64)
	if limit := m.gate.policy.ToolTime(policy.MergeSketch); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	m.live(Live{Title: "Merging an edit"})
	return m.model.outside(ctx, req, most)
}

// maxFenced is the maximum size in bytes of the words around an answer in a code fence.
const maxFenced = 1000
