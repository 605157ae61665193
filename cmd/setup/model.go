package setup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/policy/untrusted"
)

// pulled returns the models of an Ollama server. host has the format of OLLAMA_HOST.
func pulled(ctx context.Context, client *http.Client, host string) ([]string, error) {
	u, err := config.OllamaURL(host)
	if err != nil {
		return nil, fmt.Errorf("OLLAMA_HOST: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("api", "tags").String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("Ollama at %s does not answer: %w", u.Redacted(), errors.Unwrap(err)) //nolint:staticcheck // a name
	}
	defer resp.Body.Close()
	var list struct{ Models []struct{ Name string } }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 4<<20)).Decode(&list); err != nil ||
		resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s does not answer as Ollama does: %s", u.Redacted(), resp.Status)
	}
	var names []string
	for _, m := range list.Models {
		names = append(names, untrusted.EscapeLine(m.Name))
	}
	return names, nil
}

// choose returns the model if none was named: the only available one, or the one that the
// user picks at the terminal.
func choose(ctx context.Context, w *door.Console, client *http.Client, host string) (string, error) {
	const how = "name one: handrail init --model NAME"
	names, err := pulled(ctx, client, host)
	switch {
	case err != nil:
		return "", door.Usage(
			"which model? %w. Start it, or set OLLAMA_HOST to its address; for another server, handrail init --base-url URL --model NAME",
			err,
		)
	case len(names) == 0:
		return "", door.Usage("which model? Ollama has none yet: `ollama pull qwen3:8b`")
	case len(names) == 1:
		fmt.Fprintf(w.Out, "Ollama has one model, which the bot will use: %s\n\n", names[0])
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
