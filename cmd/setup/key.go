package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/policy/secret"
)

// reads checks what is said of the model's server, and reads its key and its authority.
func (v *Verb) reads() error {
	if err := v.model().Check().Err(); err != nil {
		return err
	}
	key, err := config.Secret(os.Getenv, "HANDRAIL_API_KEY")
	switch {
	case err != nil:
		return err
	case !v.model().Of().Keyed:
	case !usable(key.Reveal()):
		return errors.New("HANDRAIL_API_KEY is no key: it has a space, a quote or what is no plain letter, digit or sign in it")
	default:
		v.key = key
	}
	trusted, err := config.Authorities(v.CAFile)
	if err != nil {
		return fmt.Errorf("--ca-file: %w", err)
	}
	v.client = &http.Client{Transport: config.Transport(trusted, nil)}
	return nil
}

// model returns the model as the configuration will have it.
func (v *Verb) model() config.Model {
	return config.Model{Name: v.Model, BaseURL: v.BaseURL, Ollama: v.ollama}
}

// usable reports whether a key can stand in a header, and in a file that shells read.
func usable(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || r == '\'' })
}

const (
	mostKeys = 3                // that a person may type
	knocking = 10 * time.Second // for an answer of the model's server
)

// enter sees to it that the model's server lets the bot in, before anything is made: where
// it wants a key, the person at the terminal is asked for it. A server that is away may
// come later.
func (v *Verb) enter(ctx context.Context, w *door.Console, f files) error {
	for typed := 0; ; typed++ {
		at, refused, err := v.knock(ctx)
		switch {
		case config.Unknown(err):
			return door.Usage("the certificate of %s is of an authority that is not known here: name the file with that authority's certificate with --ca-file FILE, which becomes model.ca_file in handrail.yml", at)
		case !refused:
			return ctx.Err()
		}
		wants := at + " wants a key"
		if v.key != "" {
			wants = at + " does not take this key"
		}
		const how = "set HANDRAIL_API_KEY, or HANDRAIL_API_KEY_FILE to a file with it"
		in, _ := w.In.(*os.File)
		if !terminal.IsPerson(w.In) || typed == mostKeys {
			return door.Usage("%s: %s", wants, how)
		}
		fmt.Fprintf(w.Out, "%s. It is kept in %s, which only your account can read, and is not shown here.\n", wants, f.Environment)
		key, err := terminal.Secret(ctx, in, w.Raw, "Key: ")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || key == "":
			return door.Usage("no key was given: %s", how)
		case !usable(key):
			fmt.Fprintln(w.Out, "That is no key: it has a space, a quote or what is no plain letter, digit or sign in it.")
		default:
			v.key = secret.Value(key)
		}
	}
}

// knock asks the model's server for its models, and returns where that is and whether it
// refused for want of a key.
func (v *Verb) knock(ctx context.Context) (at string, refused bool, err error) {
	u, err := v.model().Address()
	if err != nil {
		return "", false, err
	}
	ctx, cancel := context.WithTimeout(ctx, knocking)
	defer cancel()
	models := u.JoinPath(v.model().Of().Models...)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, models.String(), nil)
	if err != nil {
		return u.Redacted(), false, err
	}
	if v.key != "" {
		req.Header.Set("Authorization", "Bearer "+v.key.Reveal())
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return u.Redacted(), false, err
	}
	return u.Redacted(), resp.StatusCode == http.StatusUnauthorized && v.model().Of().Keyed, resp.Body.Close()
}
