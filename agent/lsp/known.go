package lsp

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// Server describes a language server.
type Server struct {
	Name      string            `json:"name"`
	Argv      []string          `json:"argv"`
	Languages map[string]string `json:"languages"` // extension → the protocol's name of the language
	Roots     []string          `json:"roots,omitempty"`
	Settings  json.RawMessage   `json:"settings,omitempty"`
	Options   json.RawMessage   `json:"options,omitempty"` // of the handshake
	Env       []string          `json:"env,omitempty"`
	// TSServer is the server's command that passes a request on to tsserver; "" means that it has
	// none. Such a server names no version of a text in its diagnostics, so that tsserver is asked.
	TSServer string `json:"tsserver,omitempty"`
	// Cache says that the server keeps an index below the user's cache directory, which another process of it
	// finds by the content of files.
	Cache   bool   `json:"cache,omitempty"`
	Install string `json:"install,omitempty"` // command that installs it, or the place where it is found
}

// Serves reports whether the server is for files of this name.
func (s Server) Serves(name string) bool { return s.language(name) != "" }

// Installable reports whether the server can be installed into a directory of its own, by a command
// that takes it from npm_config_prefix or GOBIN.
func (s Server) Installable() bool {
	return strings.HasPrefix(s.Install, "npm install -g ") || strings.HasPrefix(s.Install, "go install ")
}

func extensions(language string, exts ...string) map[string]string {
	out := map[string]string{}
	for _, e := range exts {
		out[e] = language
	}
	return out
}

// Known returns the servers that are known by name. Of several for a language the first that is
// installed is used.
func Known() []Server {
	python := extensions("python", ".py", ".pyi")
	pythonRoots := []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pyrightconfig.json"}
	pythonSettings := json.RawMessage(`{"python":{"analysis":{"diagnosticMode":"openFilesOnly"}},` +
		`"basedpyright":{"analysis":{"diagnosticMode":"openFilesOnly","typeCheckingMode":"standard"}}}`)
	script := map[string]string{
		".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
		".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
	}
	scriptRoots := []string{"tsconfig.json", "jsconfig.json", "package.json"}
	clang := map[string]string{
		".c": "c", ".h": "cpp", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
	}
	return []Server{
		{
			Name: "gopls", Argv: []string{"gopls"}, Languages: extensions("go", ".go"), Roots: []string{"go.work", "go.mod"},
			Options: json.RawMessage(`{"pullDiagnostics":true}`), Env: []string{"GOPROXY=off", "GOTOOLCHAIN=local"}, Cache: true,
			Install: "go install golang.org/x/tools/gopls@latest",
		},
		{
			Name: "basedpyright", Argv: []string{"basedpyright-langserver", "--stdio"}, Languages: python, Roots: pythonRoots,
			Settings: pythonSettings,
			Install:  "npm install -g basedpyright",
		},
		{
			Name: "pyright", Argv: []string{"pyright-langserver", "--stdio"}, Languages: python, Roots: pythonRoots,
			Settings: pythonSettings,
			Install:  "npm install -g pyright",
		},
		{
			Name: "typescript-language-server", Argv: []string{"typescript-language-server", "--stdio"}, Languages: script,
			Roots: scriptRoots, TSServer: tsserver,
			// Another process would answer about the open files alone while the one for the project starts, and one
			// would ask npm for types.
			Options: json.RawMessage(`{"tsserver":{"useSyntaxServer":"never"},"disableAutomaticTypingAcquisition":true}`),
			Install: "npm install -g typescript-language-server typescript",
		},
		{
			Name: "vtsls", Argv: []string{"vtsls", "--stdio"}, Languages: script, Roots: scriptRoots, TSServer: tsserver,
			Settings: json.RawMessage(`{"typescript":{"tsserver":{"useSyntaxServer":"never"}}}`),
			Install:  "npm install -g @vtsls/language-server",
		},
		{
			Name: "clangd", Argv: []string{"clangd", "--background-index=false"}, Languages: clang,
			Roots:   []string{"compile_commands.json", "compile_flags.txt"},
			Install: "the package clangd of the distribution",
		},
		{
			Name: "rust-analyzer", Argv: []string{"rust-analyzer"}, Languages: extensions("rust", ".rs"),
			Roots:   []string{"Cargo.toml"},
			Options: json.RawMessage(`{"cachePriming":{"enable":false},"cargo":{"autoreload":false}}`),
			Env:     []string{"CARGO_NET_OFFLINE=true"},
			Install: "rustup component add rust-analyzer",
		},
		{
			Name: "jdtls", Argv: []string{"jdtls", "-data", "/tmp/jdtls"}, Languages: extensions("java", ".java"),
			Roots:   []string{"pom.xml", "build.gradle", "build.gradle.kts"},
			Install: "a release of eclipse.jdt.ls, with Java 21",
		},
		{
			Name: "bash-language-server", Argv: []string{"bash-language-server", "start"},
			Languages: extensions("shellscript", ".sh", ".bash"),
			Install:   "npm install -g bash-language-server",
		},
		{
			Name: "yaml-language-server", Argv: []string{"yaml-language-server", "--stdio"},
			Languages: extensions("yaml", ".yaml", ".yml"),
			Install:   "npm install -g yaml-language-server",
		},
	}
}

// RootOf returns the root of a server for a file: the nearest directory of the workspace with
// the first marker that is found. exists reports whether a file exists in a directory. Both paths
// are absolute.
func (s Server) RootOf(workspace, file string, exists func(dir, name string) bool) string {
	dir := filepath.Dir(file)
	for _, marker := range s.Roots {
		found := ""
		for at := dir; Within(workspace, at); at = filepath.Dir(at) {
			if found == "" && exists(at, marker) {
				found = at
			}
			if at == workspace {
				break
			}
		}
		if found != "" {
			return found
		}
	}
	return workspace
}

// Configured returns a server with the given command for files of the given extensions. A known
// name brings its own values for the rest.
func Configured(name string, argv, exts []string) Server {
	s := Server{Name: name}
	for _, k := range Known() {
		if k.Name == name {
			s = k
		}
	}
	if len(argv) > 0 {
		s.Argv = argv
	}
	if len(exts) > 0 {
		languages := map[string]string{}
		for _, e := range exts {
			e = "." + strings.TrimPrefix(strings.ToLower(e), ".")
			if languages[e] = s.Languages[e]; languages[e] == "" {
				languages[e] = strings.TrimPrefix(e, ".")
			}
		}
		s.Languages = languages
	}
	return s
}
