package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/handrail-bot/handrail/cmd/config"
	"github.com/handrail-bot/handrail/cmd/door"
	"github.com/handrail-bot/handrail/cmd/terminal"
	"github.com/handrail-bot/handrail/policy/secret"
)

// readSettings checks the settings of the model's server, and reads its key and its authority.
func (v *Verb) readSettings() error {
	if err := v.model().Check().Err(); err != nil {
		return err
	}
	key, err := config.Secret(os.Getenv, "HANDRAIL_API_KEY")
	switch {
	case err != nil:
		return err
	case !v.model().Of().Keyed:
	case !usable(key.Reveal()):
		return errors.New("HANDRAIL_API_KEY is no key: it has a space, a quote or a character outside ASCII in it")
	default:
		v.key = key
	}
	trusted, err := config.Authorities(v.CAFile)
	if err != nil {
		return fmt.Errorf("--ca-file: %w", err)
	}
	v.trusted = trusted
	return nil
}

// model returns the model's part of the configuration.
func (v *Verb) model() config.Model {
	return config.Model{Name: v.Model, BaseURL: v.BaseURL, Ollama: v.ollama, Key: v.key, Trusted: v.trusted}
}

// usable reports whether a key is valid in an HTTP header and in a file for shells.
func usable(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || r == '\'' })
}

// names returns the models of the server.
func (v *Verb) names(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return v.model().Names(ctx)
}

// maxKeys is the number of attempts to type a key.
const maxKeys = 3

// ensureAccess makes sure that the model's server admits the bot, before anything is created. If
// the server requires a key, enter asks the user at the terminal. An unreachable server
// is not an error: it may come up later.
func (v *Verb) ensureAccess(ctx context.Context, w *door.Console, f files) error {
	for typed := 0; ; typed++ {
		_, wants := v.names(ctx)
		switch {
		case config.UnknownAuthority(wants):
			return door.Usage(
				"%w: name the file with that authority's certificate with --ca-file FILE, which becomes model.ca_file in handrail.yml",
				wants,
			)
		case !errors.Is(wants, config.ErrKey):
			return ctx.Err()
		}
		const how = "set HANDRAIL_API_KEY, or HANDRAIL_API_KEY_FILE to a file with it"
		in, _ := w.In.(*os.File)
		if !terminal.IsPerson(w.In) || typed == maxKeys {
			return door.Usage("%w: %s", wants, how)
		}
		fmt.Fprintf(
			w.Out,
			"%s. It is kept in %s, which only your account can read, and is not shown here.\n",
			wants,
			f.Environment,
		)
		key, err := terminal.Secret(ctx, in, w.Raw, "Key: ")
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || key == "":
			return door.Usage("no key was given: %s", how)
		case !usable(key):
			fmt.Fprintln(w.Out, "That is no key: it has a space, a quote or a character outside ASCII in it.")
		default:
			v.key = secret.Value(key)
		}
	}
}
