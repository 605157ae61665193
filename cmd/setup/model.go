package setup

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// choose returns the model if none was named: the only available one, or the one that the
// user picks at the terminal.
func (v *Verb) choose(ctx context.Context, w *door.Console) (string, error) {
	const how = "name one: handrail init --model NAME"
	names, err := v.names(ctx)
	for i, name := range names {
		names[i] = untrusted.EscapeLine(name)
	}
	switch {
	case err != nil:
		return "", door.Usage(
			"which model? %w. Start it, or set OLLAMA_HOST to its address; for another server, handrail init --base-url URL --model NAME",
			err,
		)
	case len(names) == 0 && v.BaseURL != "":
		return "", door.Usage("which model? %s lists none: %s", v.model().Server(), how)
	case len(names) == 0:
		return "", door.Usage("which model? %s has none yet: `ollama pull qwen3:8b`", v.model().Server())
	case len(names) == 1:
		fmt.Fprintf(w.Out, "%s has one model, which the bot will use: %s\n\n", v.model().Server(), names[0])
		return names[0], nil
	}
	for i, name := range names {
		fmt.Fprintf(w.Out, "%3d  %s\n", i+1, name)
	}
	if !terminal.IsPerson(w.In) {
		return "", door.Usage("which of these models? %s", how)
	}
	fmt.Fprintf(w.Out, "Which of these models? [1] ")
	line, err := bufio.NewReader(w.In).ReadString('\n')
	if err != nil {
		return "", door.Usage("which of these models? %s", how)
	}
	return pickModel(names, strings.TrimSpace(line))
}

// pickModel returns the model for an answer: a number or a name. An empty answer picks the
// first model.
func pickModel(names []string, answer string) (string, error) {
	if answer == "" {
		return names[0], nil
	}
	for i, name := range names {
		if answer == name || answer == strconv.Itoa(i+1) {
			return name, nil
		}
	}
	return "", door.Usage("%q is neither a number from 1 to %d nor one of these models", answer, len(names))
}
