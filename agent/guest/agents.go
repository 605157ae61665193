package guest

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// home is the agent's home directory inside the workspace, on a tmpfs: new for each process.
const home = "/tmp/handrail-agent"

// insideBinary is Handrail's program in a walled workspace.
const insideBinary = "/handrail/handrail"

// serverName is the name of the synthetic MCP server.
const serverName = "handrail"

// Agent is a kind of external agent.
type Agent struct {
	Name    string
	Command []string          // as installed in the workspace
	Env     map[string]string // added to the workspace's; %m is the model, %u the address of its server
	Files   map[string]string // below its home; with the same marks
	Mode    string            // in which it asks, "" if it has no modes
	Model   string            // value of its option for the model, with the same marks; "" if it has none
	Header  string            // with the key of the model's server; "" means Authorization, as a bearer
	Vendor  string            // host that refuses the key as a bearer; others get it in both headers
	Masked  []string          // its settings in a repository: names of files and directories at any depth
}

// Keys returns the headers that carry the key of the model's server at a host.
func (a Agent) Keys(host, key string) map[string]string {
	out := map[string]string{}
	if a.Header != "" {
		out[a.Header] = key
	}
	if a.Header == "" || host != a.Vendor {
		out["Authorization"] = "Bearer " + key
	}
	return out
}

// known returns the known agents.
func known() []Agent {
	return []Agent{
		{
			Name:    "opencode",
			Command: []string{"opencode", "acp"},
			Env: map[string]string{
				"OPENCODE_CONFIG_CONTENT": opencodeConfig, "OPENCODE_DISABLE_AUTOUPDATE": "1",
				"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
				"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
			},
			Mode:   "build",
			Model:  "handrail/%m",
			Masked: []string{"opencode.json", "opencode.jsonc", ".opencode"},
		},
		{
			Name:    "qwen-code",
			Command: []string{"qwen", "--acp"},
			Env: map[string]string{
				"OPENAI_BASE_URL": "%u", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "%m",
				"QWEN_CODE_NO_RELAUNCH": "true", // one process, which starts in half the time
			},
			Files: map[string]string{
				".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"},"folderTrust":{"enabled":false}},` +
					`"tools":{"approvalMode":"default"},"general":{"disableAutoUpdate":true},` +
					`"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`,
			},
			Mode:   "default",
			Masked: []string{".qwen", ".gemini"},
		},
		{
			Name:    "gemini-cli",
			Command: []string{"gemini", "--acp"},
			Env: map[string]string{
				"GOOGLE_GEMINI_BASE_URL": doorURL, "GEMINI_API_KEY": "none", "GEMINI_MODEL": "%m",
				"GEMINI_CLI_NO_RELAUNCH": "true", // one process
			},
			Files:  map[string]string{".gemini/settings.json": geminiSettings},
			Mode:   "default",
			Header: "x-goog-api-key",
			Vendor: "generativelanguage.googleapis.com",
			Masked: []string{".gemini"},
		},
		{
			Name:    "codex-acp",
			Command: []string{"codex-acp"},
			Env: map[string]string{
				"INITIAL_AGENT_MODE": "read-only", "OPENAI_API_KEY": "none",
				"TMPDIR": home + "/tmp", // it starts no helpers of its sandbox from below that
			},
			Files: map[string]string{
				"tmp/.keep": "",
				".codex/config.toml": "model = \"%m\"\nmodel_provider = \"handrail\"\napproval_policy = \"on-request\"\n" +
					"features = { multi_agent = false }\n\n" + // its sub-agents
					"[model_providers.handrail]\nname = \"handrail\"\nbase_url = \"%u\"\n" +
					"wire_api = \"responses\"\n",
			},
			Mode:   "read-only",
			Masked: []string{".codex"},
		},
		{
			Name:    "claude-agent-acp",
			Command: []string{"claude-agent-acp"},
			Env: map[string]string{
				"ANTHROPIC_BASE_URL": doorURL, "ANTHROPIC_API_KEY": "none", "ANTHROPIC_MODEL": "%m",
				"ANTHROPIC_SMALL_FAST_MODEL": "%m", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
			},
			Files: map[string]string{ // without sub-agents
				".claude/settings.json": `{"permissions":{"deny":["Agent","Task","Workflow","WebFetch","WebSearch"]}}`,
			},
			Mode:   "default",
			Header: "x-api-key",
			Vendor: "api.anthropic.com",
			Masked: []string{".claude"},
		},
	}
}

// opencodeConfig asks for each edit and command, and has no sub-agents: their requests are
// lost.
const opencodeConfig = `{"model":"handrail/%m","small_model":"handrail/%m","autoupdate":false,"share":"disabled",` +
	`"provider":{"handrail":{"npm":"@ai-sdk/openai-compatible","name":"handrail",` +
	`"options":{"baseURL":"%u","apiKey":"none"},"models":{"%m":{"name":"%m"}}}},"enabled_providers":["handrail"],` +
	`"permission":{"*":"ask","read":"allow","glob":"allow","grep":"allow","list":"allow",` +
	`"todowrite":"allow","todoread":"allow","` + serverName + `_*":"allow",` +
	`"webfetch":"deny","websearch":"deny","task":"deny"},"tools":{"task":false}}`

// geminiSettings leaves out its sub-agents, and its own ways to the network.
const geminiSettings = `{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},` +
	`"general":{"disableAutoUpdate":true,"enableAutoUpdate":false},"experimental":{"enableAgents":false},` +
	`"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false},` +
	`"tools":{"exclude":["invoke_agent","codebase_investigator","web_fetch","google_web_search"]}}`

// named returns a known agent.
func named(name string) (Agent, bool) {
	list := known()
	at := slices.IndexFunc(list, func(a Agent) bool { return a.Name == name })
	if at < 0 {
		return Agent{}, false
	}
	return list[at], true
}

// names returns the names of the known agents.
func names() []string {
	var out []string
	for _, a := range known() {
		out = append(out, a.Name)
	}
	return out
}

// Choose returns the agent of a configuration: one by name, whose command and mode may be
// replaced, or another one by its command.
func Choose(name string, command []string, mode string, env map[string]string) (Agent, error) {
	a, ok := named(name)
	switch {
	case name != "" && !ok:
		return a, fmt.Errorf("there is no agent %q: %s, or a command", name, strings.Join(names(), ", "))
	case name == "" && len(command) == 0:
		return a, fmt.Errorf("it names no agent: %s, or a command", strings.Join(names(), ", "))
	case name == "":
		a.Name = path.Base(command[0])
	}
	if len(command) > 0 {
		a.Command = command
	}
	if mode != "" {
		a.Mode = mode
	}
	all := maps.Clone(a.Env)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, env)
	a.Env = all
	return a, nil
}

// Masks reports whether a path of a repository has settings of an agent: of any, since one
// reads the files of another.
func Masks(name string) bool {
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		for _, a := range known() {
			if slices.Contains(a.Masked, part) { //control:guest-masked
				return true
			}
		}
	}
	return false
}

// fill replaces the marks in a text. Inside of JSON and TOML the model's name is quoted as
// JSON.
func fill(text, model string) string {
	name, _ := json.Marshal(model) // of a string
	return strings.NewReplacer("%m", strings.Trim(string(name), `"`), "%u", doorURL+"/v1").Replace(text)
}

func (a Agent) modelValue(model string) string { return strings.ReplaceAll(a.Model, "%m", model) }

// launcher makes the home directory with its files, and becomes the agent. It is a shell's
// program: the variables F0, F1 … have the files, as a path, a line break and the content.
const launcher = `rm -rf "$HOME"; mkdir -p "$HOME" || exit 1
i=0
while eval "f=\${F$i-}"; [ -n "$f" ]; do
  to="$HOME/${f%%
*}"
  mkdir -p "${to%/*}"
  printf '%s\n' "${f#*
}" >"$to"
  unset "F$i"
  i=$((i+1))
done
exec "$@"`

// program returns the program to start in the workspace.
func (a Agent) program(model string) workspace.Program {
	env := map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home + "/.config", "XDG_DATA_HOME": home + "/.local/share",
		"XDG_STATE_HOME": home + "/.local/state", "XDG_CACHE_HOME": home + "/.cache",
		"HTTP_PROXY": "", "HTTPS_PROXY": "", "ALL_PROXY": "", "http_proxy": "", "https_proxy": "", "all_proxy": "",
	}
	for k, v := range a.Env {
		env[k] = fill(v, model)
	}
	for i, name := range slices.Sorted(maps.Keys(a.Files)) {
		env[fmt.Sprintf("F%d", i)] = name + "\n" + fill(a.Files[name], model)
	}
	return workspace.Program{Argv: append([]string{"sh", "-c", launcher, a.Name}, a.Command...), Env: env}
}
