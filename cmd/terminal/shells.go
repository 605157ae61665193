package terminal

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/cmd/door"
)

//go:embed handrail.bash handrail.zsh handrail.fish
var scripts embed.FS

// Completion is handrail completion.
type Completion struct {
	Shell string `arg:"" optional:"" help:"bash, zsh or fish; the one that SHELL names otherwise."`
}

// Help explains the installation of the script.
func (Completion) Help() string {
	return `In ~/.bashrc:

    source <(handrail completion bash)

In ~/.zshrc, behind compinit:

    source <(handrail completion zsh)

For fish, once:

    handrail completion fish > ~/.config/fish/completions/handrail.fish`
}

// Run prints the completion script of a shell.
func (c *Completion) Run(w *door.Console) error {
	shell := c.Shell
	if shell == "" {
		shell = filepath.Base(os.Getenv("SHELL"))
	}
	text, err := scripts.ReadFile("handrail." + shell)
	if err != nil {
		return door.Usage("completion is there for bash, zsh and fish: name one of them, as in `handrail completion bash`")
	}
	_, err = fmt.Fprintf(w.Out, "%s", text)
	return err
}
