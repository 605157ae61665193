package session

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Server is an MCP server as it was when the session first used it. Its tools stay these
// until the session ends.
type Server struct {
	Name      string       `json:"server"`
	Tools     []ServerTool `json:"tools,omitempty"`
	Resources []string     `json:"resources,omitempty"` // URIs, and templates of URIs
	Key       string       `json:"key,omitempty"`       // identifies the server besides its tools
	Digest    string       `json:"digest,omitempty"`    // of all tools, as the server sent them
	Down      string       `json:"down,omitempty"`      // why it is not used; "" if it is
	Unfit     []string     `json:"unfit,omitempty"`     // names of tools that are not offered: their schemas cannot be used
}

// maxUnfit is the maximum number of names in a line about tools that are not offered.
const maxUnfit = 5

// LeftOut describes the tools that are not offered, in a few words; "" if all are.
func (s Server) LeftOut() string {
	if len(s.Unfit) == 0 {
		return ""
	}
	text := strings.Join(s.Unfit[:min(len(s.Unfit), maxUnfit)], ", ")
	if more := len(s.Unfit) - maxUnfit; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "not offered, since the schema of its arguments cannot be used: " + text
}

// ServerTool is a tool of an MCP server, with its texts cleaned.
type ServerTool struct {
	Name        string          `json:"tool"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
}

// ProposedServer is the tool name in a request to use an MCP server that a repository
// proposes. No model can call it.
const ProposedServer = "mcp_server"

// ProposedLanguageServer is the tool name in a request to use a language server that a
// repository proposes. No model can call it.
const ProposedLanguageServer = "language_server"

// OfRepository reports whether a repository asks, not a call of the model: its approval
// holds for all sessions, and is bound to its digest alone.
func (a Asked) OfRepository() bool {
	return a.Tool == SetUpTool || a.Tool == ProposedServer || a.Tool == ProposedLanguageServer
}

// Server returns the recorded server with a name, or nil.
func (s *State) Server(name string) *Server {
	for i := range s.Servers {
		if s.Servers[i].Name == name {
			return &s.Servers[i]
		}
	}
	return nil
}

// addServers records servers; a later record of one replaces an earlier one.
func (s *State) addServers(list []Server) {
	for _, one := range list {
		if known := s.Server(one.Name); known != nil {
			*known = one
			continue
		}
		s.Servers = append(s.Servers, one)
	}
}
