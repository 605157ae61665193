package tools_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/handrail-bot/handrail/agent/session"
	"github.com/handrail-bot/handrail/agent/tools"
	"github.com/handrail-bot/handrail/agent/tools/toolstest"
	"github.com/handrail-bot/handrail/agent/workspace"
	"github.com/handrail-bot/handrail/policy"
)

// TestClassOf: errors have the class of their cause, whatever was said around it, and
// else that of their tool.
func TestClassOf(t *testing.T) {
	edits, runs := tools.Spec{Edits: true, Kind: policy.Write}, tools.Spec{Kind: policy.Execute}
	for _, tt := range []struct {
		err  error
		spec tools.Spec
		want session.ErrorClass
	}{
		{fs.ErrNotExist, edits, session.ClassNotFound},
		{fmt.Errorf("read a: %w", workspace.ErrIgnored), edits, session.ClassIgnored},
		{tools.Complain(workspace.ErrBinary), edits, session.ClassBinary},
		{errors.Join(fs.ErrPermission), tools.Spec{}, session.ClassPermission},
		{workspace.ErrOutside, runs, session.ClassPermission},
		{context.DeadlineExceeded, runs, session.ClassTimeout},
		{errors.New("no such line"), edits, session.ClassEdit},
		{errors.New("no shell"), runs, session.ClassCommand},
		{errors.New("something"), tools.Spec{}, ""},
	} {
		if got := tools.ClassOf(tt.err, tt.spec); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
	b := toolstest.Open(t, map[string]string{"a.txt": "one\n"})
	for _, tt := range []struct {
		tool, args string
		want       session.ErrorClass
	}{
		{"read_file", `{}`, session.ClassParameter},
		{"read_file", `{"path":"b.txt"}`, session.ClassNotFound},
		{"edit_file", `{"path":"a.txt","old_string":"two","new_string":"three"}`, session.ClassEdit},
	} {
		tool := b.Tool(tt.tool)
		_, err := tool.Intent(t.Context(), toolstest.Call(tt.tool, tt.args))
		if err == nil {
			_, err = tool.Run(t.Context(), toolstest.Call(tt.tool, tt.args), func(string) {})
		}
		if got := tools.ClassOf(err, tool.Spec()); got != tt.want {
			t.Errorf("%s %s: %q (%v), want %q", tt.tool, tt.args, got, err, tt.want)
		}
	}
}
