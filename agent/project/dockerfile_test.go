package project

import (
	"slices"
	"strings"
	"testing"
)

// A recipe has all that its build needs, and names every image that it takes anything from; one that cannot be
// told so is none.
func TestRecipe(t *testing.T) {
	const names = "-- .devcontainer/devcontainer.json --\n{\"build\": {\"dockerfile\": \"Dockerfile\", \"args\": {\"VARIANT\": \"22\"}}}\n-- .devcontainer/Dockerfile --\n"
	for _, tt := range []struct {
		name, files string
		bases       []string
		fetches     bool
		err         string
	}{
		{"stages", names + "# a comment\nARG VARIANT=20\nFROM node:${VARIANT} AS Build\nRUN a \\\n# still\n  FROM\nFROM --platform=linux/amd64 debian\nCOPY --from=build /a /b\nCOPY --from=0 /a /c\nCOPY --from=acme/tools:1 /x /y\nFROM build\n", []string{"node:22", "debian", "acme/tools:1"}, false, ""},
		{"a default", names + "ARG B\nFROM $B:${C:-bookworm}\n", nil, false, "the image in FROM $B:${C:-bookworm} is not known"},
		{"defaults", names + "from debian:${C:-bookworm}\nADD https://example.org/x /x\n", []string{"debian:bookworm"}, true, ""},
		{"hidden addresses", names + "FROM debian\nADD h\"t\"tps:\\/\\/example.org/x /x\n", []string{"debian"}, true, ""},
		{"for a later stage", names + "\ufefffrom debian AS a\nONBUILD COPY --from=acme/tools:1 /x /y\nonbuild add http:'//'a /b\nFROM a\n", []string{"debian", "acme/tools:1"}, true, ""},
		{"an archive", names + "FROM scratch\nADD x.tar /\n", nil, false, ""},
		{"nothing", names + "RUN true\n", nil, false, "it has no FROM"},
		{"another escape", names + "# escape=`\nFROM debian\n", nil, false, "escape"},
		{"too long", names + "FROM debian\n#" + strings.Repeat("x", maxDockerfile) + "\n", nil, false, "longer than"},
		{"missing", "-- .devcontainer.json --\n{\"dockerFile\": \"Dockerfile\"}\n", nil, false, "read Dockerfile, which .devcontainer.json names"},
		{"outside", "-- .devcontainer.json --\n{\"dockerFile\": \"Dockerfile\", \"context\": \"..\"}\n-- Dockerfile --\nFROM debian\n", nil, false, "outside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := FindRecipe(t.Context(), repository(tt.files))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%+v, %v", r, err)
				}
				return
			}
			if err != nil || !slices.Equal(r.Bases, tt.bases) || r.Fetches != tt.fetches || r.Text == "" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	for name, text := range map[string]string{ // each has an image or an address that only a builder sees
		"a backslash that is one":     "FROM debian\nRUN true \\\\\nFROM evil\n",
		"another space behind":        "FROM debian\nRUN true \\\u00a0\nFROM evil\n",
		"another space before":        "FROM debian\nRUN true\fx \\\nFROM evil\n",
		"an escape behind a mark":     "\ufeff# escape=`\nFROM debian`\n.evil.example/x\n",
		"an escape behind a space":    "\u00a0# escape=`\nFROM debian`\n.evil.example/x\n",
		"a quoted flag":               "FROM debian\nCOPY --fr\"om\"=evil / /x\n",
		"an escaped flag":             "FROM debian\nADD --fr\\om=evil / /x\n",
		"an escaped flag for later":   "FROM debian\nONBUILD COPY --fr\\om=evil / /x\n",
		"a quoted argument":           "ARG B=debian\nARG \"B\"=evil\nFROM $B\n",
		"an argument by another":      "ARG B=debian\nARG N=B\nARG $N=evil\nFROM $B\n",
		"an escaped argument":         "ARG B=debian\nARG \\B=evil\nFROM $B\n",
		"a quote within the argument": "ARG B=debian\"'x\nFROM $B\n",
		"a backslash in the name":     "FROM deb\\ian\n",
	} {
		if r, err := FindRecipe(t.Context(), repository(names+text)); err == nil || r != nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for text, bases := range map[string][]string{ // read as a builder reads it
		"FROM debian\\\n.evil.example/x\n":                      {"debian.evil.example/x"},
		"FROM debian\nFR\\\n# a comment\n\nOM evil\n":           {"debian", "evil"},
		"FROM debian\nCOPY --fr\\\nom=evil / /x\n":              {"debian", "evil"},
		"ARG B=debian\nARG X=1 B='evil'\nFROM $B\n":             {"evil"},
		"FROM debian AS evil\nCOPY --from=evil / /x\n":          {"debian", "evil"},
		"FROM debian\nRUN echo \\\n  FROM x \\\n":               {"debian"},
		"FROM debian\r\nRUN --mount=type=tmpfs,target=\"/x\" y": {"debian"},
	} {
		r, err := FindRecipe(t.Context(), repository(names+text))
		if err != nil || !slices.Equal(r.Bases, bases) {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
	for _, none := range []string{"-- a --\n", "-- .devcontainer.json --\n{\"image\": \"debian\", \"dockerFile\": \"Dockerfile\"}\n"} {
		if r, err := FindRecipe(t.Context(), repository(none)); r != nil || err != nil {
			t.Errorf("%q: %+v, %v", none, r, err)
		}
	}
}
