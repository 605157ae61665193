package ollama

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ollama/ollama/api"

	"github.com/handrail-bot/handrail/agent/llm"
	"github.com/handrail-bot/handrail/agent/llm/wire"
)

// info is the server's description of its model and itself.
type info struct {
	caps      llm.Capabilities
	truncates bool // knows truncate:false and rejects a prompt that is too long

	temperature bool // the Modelfile sets a temperature
}

// shown caches info. turn is full while a request to the server is in progress, so that
// concurrent sessions ask only once.
type shown struct {
	turn chan struct{}
	info atomic.Pointer[info]
}

func (s *shown) forget() { s.info.Store(nil) }

// info returns the cached description of the model, or asks the server.
func (m *Model) info(ctx context.Context) (info, error) {
	if i := m.shown.info.Load(); i != nil {
		return *i, nil
	}
	select {
	case m.shown.turn <- struct{}{}:
	case <-ctx.Done():
		return info{}, wire.Failure(ctx, ctx.Err())
	}
	defer func() { <-m.shown.turn }()
	if i := m.shown.info.Load(); i != nil {
		return *i, nil
	}
	resp, err := m.api.Show(ctx, &api.ShowRequest{Model: m.end.Model})
	if err != nil {
		return info{}, m.showError(ctx, err)
	}
	i := read(resp)
	version, err := m.api.Version(ctx)
	if err != nil {
		m.end.Log.WarnContext(ctx, "model server does not tell its version", "model", m.end.Model, "err", err)
	}
	i.truncates = knowsTruncate(version)
	i.caps.Digest = m.digest(ctx)
	if !i.truncates {
		m.end.Log.WarnContext(ctx, "model server may cut long prompts silently: its version is old or unknown",
			"model", m.end.Model, "version", version, "needed", firstTruncate)
	}
	if i.caps.ContextSet == 0 {
		known := false
		if i.caps.ContextSet, known = m.ownWindow(ctx, i.caps.ContextLength); !known {
			return i, nil
		}
	}
	m.shown.info.Store(&i)
	return i, nil
}

func (m *Model) showError(ctx context.Context, err error) error {
	var status api.StatusError
	var auth api.AuthorizationError
	switch {
	case errors.As(err, &status):
		return m.classify(status.StatusCode, status.ErrorMessage)
	case errors.As(err, &auth):
		return m.classify(http.StatusUnauthorized, auth.Error())
	}
	if isJSONError(err) {
		return m.notOllama(err)
	}
	return wire.Failure(ctx, err)
}

// read extracts the info from a response of /api/show. Servers before 0.6.4 do not list
// capabilities; then the template reveals them.
func read(resp *api.ShowResponse) info {
	var i info
	if len(resp.Capabilities) > 0 {
		for _, c := range resp.Capabilities {
			switch c.String() {
			case "tools":
				i.caps.Tools = true
			case "thinking":
				i.caps.Thinking = true
			case "vision":
				i.caps.Vision = true
			}
		}
	} else {
		i.caps.Tools = strings.Contains(resp.Template, ".Tools")
		i.caps.Vision = len(resp.ProjectorInfo) > 0
	}
	i.caps.ContextLength = contextLength(resp.ModelInfo)
	i.caps.Parameters = parameterCount(resp)
	set, _ := strconv.Atoi(parameter(resp.Parameters, "num_ctx"))
	i.caps.ContextSet = max(set, 0)
	i.temperature = parameter(resp.Parameters, "temperature") != ""
	return i
}

// contextLength finds the model's maximum context length, for example in
// "llama.context_length". The value of the named architecture takes precedence, because a
// vision model may have a second, smaller one for its projector.
func contextLength(info map[string]any) int {
	arch, _ := info["general.architecture"].(string)
	if n, ok := info[arch+".context_length"].(float64); ok && n > 0 {
		return int(n)
	}
	longest := 0
	for key, v := range info {
		if n, ok := v.(float64); ok && strings.HasSuffix(key, ".context_length") {
			longest = max(longest, int(n))
		}
	}
	return longest
}

// parameterCount returns the number of parameters: the exact count, or else that of the
// label, such as 7.6B.
func parameterCount(resp *api.ShowResponse) int64 {
	if n, ok := resp.ModelInfo["general.parameter_count"].(float64); ok && n > 0 {
		return int64(n)
	}
	label := strings.ToUpper(strings.TrimSpace(resp.Details.ParameterSize))
	if label == "" {
		return 0
	}
	unit, known := map[byte]float64{'K': 1e3, 'M': 1e6, 'B': 1e9, 'T': 1e12}[label[len(label)-1]]
	n, err := strconv.ParseFloat(label[:len(label)-1], 64)
	if !known || err != nil || n <= 0 {
		return 0
	}
	return int64(n * unit)
}

// digest identifies the weights that the server has under the model's name, or returns ""
// if the server does not list them.
func (m *Model) digest(ctx context.Context) string {
	list, err := m.api.List(ctx)
	if err != nil {
		m.end.Log.WarnContext(ctx, "model server does not list its models", "model", m.end.Model, "err", err)
		return ""
	}
	for _, l := range list.Models {
		if m.named(l.Model, l.Name) {
			return l.Digest
		}
	}
	return ""
}

// parameter returns a value from a Modelfile's parameters, one "name value" per line, or
// "".
func parameter(parameters, name string) string {
	for line := range strings.Lines(parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			return f[1]
		}
	}
	return ""
}

// firstTruncate is the first version known to honor truncate in /api/chat.
const firstTruncate = "0.12.6"

// knowsTruncate reports whether a server of this version supports truncate. A server
// built from source without a version reports 0.0.0 and counts as new.
func knowsTruncate(version string) bool {
	have, ok := numbers(version)
	if !ok {
		return false
	}
	want, _ := numbers(firstTruncate)
	return have == [3]int{} || slices.Compare(have[:], want[:]) >= 0
}

// numbers returns the three numbers of a version, without any suffix after a dash or a
// plus.
func numbers(version string) (n [3]int, ok bool) {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	version, _, _ = strings.Cut(version, "-")
	fields := strings.Split(version, ".")
	if len(fields) != len(n) {
		return n, false
	}
	for i, f := range fields {
		v, err := strconv.Atoi(f)
		if err != nil {
			return n, false
		}
		n[i] = v
	}
	return n, true
}
