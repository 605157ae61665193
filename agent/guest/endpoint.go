package guest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Endpoint is the model's server as the bot reaches it. The agent sees neither its address
// nor its key, and reaches only requests for answers, of the one model.
type Endpoint struct {
	HTTP  *http.Client
	URL   *url.URL          // below it are chat/completions and the like
	Keys  map[string]string // headers with the key
	Model string
	Log   *slog.Logger
}

// Limits of one request of an agent.
const (
	maxRequestBody = 32 << 20
	maxUsageLine   = 1 << 20
	bytesPerToken  = 4
)

// answers lists the requests of the known agents, below /v1.
var answers = []string{"chat/completions", "completions", "responses", "messages"}

// messagesVersion is the version of Anthropic's form, which its servers want to be told.
const messagesVersion = "2023-06-01"

// Requests in Google's form have the model in their path, and a verb behind it.
const (
	googleModels = "/v1beta/models/"
	googleStream = "streamGenerateContent"
	googleWhole  = "generateContent"
)

// verbOf returns the verb of a path in Google's form; "" if it is none.
func verbOf(at string) string {
	rest, ok := strings.CutPrefix(at, googleModels)
	verb := rest[strings.LastIndex(rest, ":")+1:]
	if !ok || verb != googleStream && verb != googleWhole {
		return ""
	}
	return verb
}

// model serves a request to the model's server.
func (d *Door) model(w http.ResponseWriter, r *http.Request) {
	at := strings.TrimPrefix(path.Clean(r.URL.Path), "/v1/")
	switch {
	case r.Method == http.MethodGet && at == "models":
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"object": "list", "data": []map[string]string{{"id": d.at.Model, "object": "model", "owned_by": "handrail"}},
		})
	case r.Method == http.MethodPost && (slices.Contains(answers, at) || verbOf(at) != ""): //control:guest-model-only
		d.forward(w, r, at)
	default:
		http.Error(w, "Handrail passes on requests for answers of a model, and nothing else.", http.StatusNotFound)
	}
}

// forward passes a request on, and counts its tokens.
func (d *Door) forward(w http.ResponseWriter, r *http.Request, at string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
	if err != nil {
		http.Error(w, "The request is too large.", http.StatusRequestEntityTooLarge)
		return
	}
	turn, body, err := d.at.rewrite(at, body)
	if err != nil {
		http.Error(w, "The request is no JSON object.", http.StatusBadRequest)
		return
	}
	if d.admit(r.Context(), turn) != nil { //control:guest-model-waits
		return
	}
	resp, err := d.at.send(r.Context(), at, body)
	if err != nil || resp.StatusCode != http.StatusOK {
		d.giveBack(turn)
	}
	if err != nil {
		if d.at.Log != nil {
			d.at.Log.WarnContext(r.Context(), "model of an agent failed", "err", err)
		}
		http.Error(w, "The model's server does not answer.", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	c, size := d.relay(w, resp.Body)
	if c == (count{}) && resp.StatusCode == http.StatusOK { // it does not count
		c = count{prompt: len(body) / bytesPerToken, answer: size / bytesPerToken}
	}
	d.add(c, turn)
}

// rewrite sets the model, and asks for the count of tokens. turn reports whether the request
// offers tools: its answer is a turn, and others are titles and the like.
func (e Endpoint) rewrite(at string, body []byte) (turn bool, out []byte, err error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(body, &in); err != nil {
		return false, nil, err
	}
	if in == nil {
		return false, nil, io.ErrUnexpectedEOF
	}
	var tools []json.RawMessage
	_ = json.Unmarshal(in["tools"], &tools) // another form offers none
	if verbOf(at) == "" {
		in["model"], _ = json.Marshal(e.Model) //control:guest-one-model
	}
	if string(bytes.TrimSpace(in["stream"])) == "true" && strings.HasSuffix(at, "completions") {
		in["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	out, err = json.Marshal(in)
	return len(tools) > 0, out, err
}

// address returns the address of a request. In Google's form it is beside the one of OpenAI's, and
// names the one model.
func (e Endpoint) address(at string) *url.URL {
	verb := verbOf(at)
	if verb == "" {
		return e.URL.JoinPath(at)
	}
	root := *e.URL
	root.Path = strings.TrimSuffix(root.Path, "/")
	for _, last := range []string{"/openai", "/v1beta", "/v1"} {
		root.Path = strings.TrimSuffix(root.Path, last)
	}
	out := root.JoinPath(googleModels + url.PathEscape(e.Model) + ":" + verb) //control:guest-one-model-of-google
	if verb == googleStream {
		out.RawQuery = "alt=sse"
	}
	return out
}

func (e Endpoint) send(ctx context.Context, at string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address(at).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if at == "messages" {
		req.Header.Set("Anthropic-Version", messagesVersion)
	}
	for name, value := range e.Keys {
		req.Header.Set(name, value)
	}
	return e.HTTP.Do(req)
}

// relay passes an answer on as it comes, and returns its tokens as the server counts them.
func (d *Door) relay(w http.ResponseWriter, body io.Reader) (c count, size int) {
	flush := http.NewResponseController(w)
	in := bufio.NewReaderSize(body, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		size += len(part)
		if len(line)+len(part) <= maxUsageLine {
			line = append(line, part...)
		}
		if len(part) > 0 {
			if _, bad := w.Write(part); bad != nil {
				return c, size
			}
			_ = flush.Flush() // fails only with the connection
			d.alive()
		}
		if err == bufio.ErrBufferFull { //nolint:errorlint // it is never wrapped
			continue
		}
		c.read(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data:")))
		line = line[:0]
		if err != nil {
			return c, size
		}
	}
}

// read takes the counts of one JSON object. Later ones of the same answer are larger.
func (c *count) read(line []byte) {
	if !bytes.Contains(line, []byte(`"usage`)) {
		return
	}
	type usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Input      int `json:"input_tokens"`
		Output     int `json:"output_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	type holder struct {
		Usage usage `json:"usage"`
	}
	var in struct {
		holder
		Message  holder `json:"message"`
		Response holder `json:"response"`
		Google   struct {
			Prompt   int `json:"promptTokenCount"`
			Answer   int `json:"candidatesTokenCount"`
			Thoughts int `json:"thoughtsTokenCount"`
			Cached   int `json:"cachedContentTokenCount"`
		} `json:"usageMetadata"`
	}
	if json.Unmarshal(line, &in) != nil {
		return
	}
	for _, u := range []usage{in.Usage, in.Message.Usage, in.Response.Usage} {
		c.prompt = max(c.prompt, u.Prompt, u.Input)
		c.answer = max(c.answer, u.Completion, u.Output)
		c.cached = max(c.cached, u.Details.Cached)
	}
	c.prompt = max(c.prompt, in.Google.Prompt)
	c.answer = max(c.answer, in.Google.Answer+in.Google.Thoughts)
	c.cached = max(c.cached, in.Google.Cached)
}
