package setup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/bot/ghapp/granted"
	"github.com/handrail-bot/handrail/cmd/config"
)

// files are the files that a set-up writes, and the command that starts the bot.
type files struct{ Config, Environment, Key, Start string }

func filesIn(dir string) files {
	f := files{
		Config:      filepath.Join(dir, "handrail.yml"),
		Environment: filepath.Join(dir, "handrail.env"),
		Key:         filepath.Join(dir, "handrail.pem"),
	}
	f.Start = fmt.Sprintf("set -a; . %s; set +a\nhandrail serve --config %s", quoted(f.Environment), quoted(f.Config))
	return f
}

// doctor returns the command that checks a server with these files.
func (f files) doctor() string {
	return fmt.Sprintf("set -a; . %s; set +a; handrail doctor --config %s", quoted(f.Environment), quoted(f.Config))
}

// quoted quotes a path for a shell.
func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// checkFree returns an error if one of the files exists, or cannot be created.
func (f files) checkFree() error {
	for _, name := range []string{f.Config, f.Environment, f.Key} {
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("%s is there already: move it away, or write into another directory with --dir", name)
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.Config), 0o700); err != nil {
		return fmt.Errorf("make the directory for the files: %w", err)
	}
	probe, err := os.CreateTemp(filepath.Dir(f.Config), ".handrail-*")
	if err != nil {
		return fmt.Errorf("write into %s: %w", filepath.Dir(f.Config), err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// writeAll writes all files, the key first: GitHub sends it only once.
func (f files) writeAll(v *Verb, app granted.App) (files, error) {
	v.secrets = map[string]string{"HANDRAIL_LOG_KEY": rand.Text() + rand.Text()}
	env := "# Secrets of the server. handrail init wrote this file.\nHANDRAIL_LOG_KEY=" + v.secrets["HANDRAIL_LOG_KEY"] + "\n"
	hook := app.WebhookSecret.Reveal()
	if strings.ContainsAny(hook, "\n\r'") {
		return f, errors.New("GitHub's secret of the webhook cannot be written into a file for shells")
	}
	if v.Address != "" {
		if hook == "" {
			return f, errors.New("GitHub gave no secret of the webhook")
		}
		v.secrets["HANDRAIL_WEBHOOK_SECRET"] = hook
		env += "HANDRAIL_WEBHOOK_SECRET='" + hook + "'\n"
	}
	if key := v.key.Reveal(); key != "" {
		if !usable(key) {
			return f, errors.New("the key of the model's server cannot be written into a file for shells")
		}
		v.secrets["HANDRAIL_API_KEY"] = key
		env += "HANDRAIL_API_KEY='" + key + "'\n"
		if os.Getenv("HANDRAIL_API_KEY_FILE") != "" { // a server refuses both at once
			v.secrets["HANDRAIL_API_KEY_FILE"] = ""
			env += "HANDRAIL_API_KEY_FILE=\n"
		}
	}
	for _, one := range []struct{ name, text string }{{f.Key, string(app.Key)}, {f.Environment, env},
		{f.Config, f.config(v, app)}} {
		if err := write(one.name, one.text); err != nil {
			return f, err
		}
	}
	_, err := config.CheckFile(f.Config)
	return f, err
}

func (f files) config(v *Verb, app granted.App) string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"# yaml-language-server: $schema=https://raw.githubusercontent.com/handrail-bot/handrail/main/docs/schema/server.json\n# The server's configuration; its keys are explained in docs/configuration.md.\nlisten: %s\ndata: %s\ngithub:\n  app_id: %d\n  private_key_file: %s\n",
		strconv.Quote(v.Listen),
		strconv.Quote(filepath.Join(filepath.Dir(f.Config), "data")),
		app.ID,
		strconv.Quote(f.Key),
	)
	if api := v.choice().API(); api != "" {
		fmt.Fprintf(&b, "  api: %s\n", strconv.Quote(api))
	}
	if v.Address == "" {
		b.WriteString("  poll: 30s\n")
	}
	fmt.Fprintf(&b, "model:\n  name: %s\n", strconv.Quote(v.Model))
	if v.BaseURL != "" {
		fmt.Fprintf(&b, "  base_url: %s\n", strconv.Quote(v.BaseURL))
	}
	if v.CAFile != "" {
		fmt.Fprintf(&b, "  ca_file: %s\n", strconv.Quote(v.CAFile))
	}
	if v.ollama != "" {
		fmt.Fprintf(&b, "  ollama: %s\n", strconv.Quote(v.ollama))
	}
	return b.String()
}

// write creates a file that only its owner can read. It never overwrites one.
func write(name, text string) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //control:setup-overwrites-nothing
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already", name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err = file.WriteString(text); err != nil {
		return err
	}
	return file.Sync()
}
