package policy

import (
	"slices"
	"strings"
	"testing"
)

// A repository says what is set up, and reaches no more by that than the server lets it.
func TestMergeSetUp(t *testing.T) {
	npm := SetUp{Commands: []string{"npm ci"}, Files: []string{"package-lock.json"}}
	with := func(s SetUp, network string) Config {
		s.Network = network
		return Config{Running: Running{SetUp: s}}
	}
	for _, tt := range []struct{ server, repo, want string }{
		{"", "", "none"}, {"", "open", "none"}, {"none", "open", "none"}, {"open", "", "none"}, {"open", "none", "none"}, {"open", "open", "open"},
	} {
		got := Merge(with(SetUp{}, tt.server).WithDefaults(), with(npm, tt.repo)).WithDefaults().SetUp
		if got.Network != tt.want || !slices.Equal(got.Commands, npm.Commands) || !slices.Equal(got.Files, npm.Files) {
			t.Errorf("server %q, repository %q: %+v, want %q", tt.server, tt.repo, got, tt.want)
		}
	}
	if got := Merge(with(npm, "open"), Config{}).WithDefaults().SetUp; !slices.Equal(got.Commands, npm.Commands) || got.Network != "none" {
		t.Errorf("of the server alone: %+v", got)
	}
}

// What of a set-up cannot work is told.
func TestSetUpIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"setup: {commands: ['']}":              "line 1, column 20: setup.commands[0]: an empty command does nothing",
		"setup: {files: [/etc/passwd]}":        "setup.files[0]: write the path of a file from the root",
		"setup: {files: [../a]}":               "setup.files[0]: write the path",
		"setup: {caches: [nmp]}":               `setup.caches[0]: "nmp" is not one of`,
		"setup: {network: bridge}":             `setup.network: "bridge" is not one of none, open`,
		"setup: {command: [npm ci]}":           `did you mean "commands"?`,
		"setup: {commands: [npm ci, \"\\0\"]}": "the command has a NUL character",
	} {
		if _, err := ParseConfig("agent.yml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
