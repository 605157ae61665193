// Package inforce says which configuration holds, key by key, and where each value comes
// from.
package inforce

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy"
	"github.com/handrail-bot/handrail/policy/strict"
)

// Setting is one key of the configuration with the value that is in force, and where
// that comes from: "server", "repository", both of them, or "default".
type Setting struct {
	Key, Value, From string
}

// Where settings come from.
const (
	Server     = "server"
	Repository = "repository"
	Both       = "server and repository"
	Default    = "default"
)

// Of returns what holds in a repository: the server's configuration joined with
// the repository's, and the defaults. Model is the one for repositories that name none.
// Keys that nothing sets and that have no default are left out.
func Of(server, repo policy.Config, model string) []Setting {
	if server.Model == "" {
		server.Model = model
	}
	merged := policy.Merge(server, repo)
	merged.SensitiveFiles = append(slices.Clone(server.SensitiveFiles), repo.SensitiveFiles...) // each holds, see [policy.Config.Above]
	var out []Setting
	l := leaves{server: reflect.ValueOf(server), repo: reflect.ValueOf(repo), merged: reflect.ValueOf(merged), all: reflect.ValueOf(merged.WithDefaults()), def: reflect.ValueOf(policy.DefaultConfig())}
	l.walk("", &out)
	return out
}

// leaves is the same part of several configurations.
type leaves struct{ server, repo, merged, all, def reflect.Value }

func (l leaves) walk(key string, out *[]Setting) {
	if l.all.Kind() == reflect.Struct {
		for _, k := range strict.Keys(l.all.Type()) {
			part := func(v reflect.Value) reflect.Value { return v.FieldByName(k.Field) }
			leaves{part(l.server), part(l.repo), part(l.merged), part(l.all), part(l.def)}.walk(strings.TrimPrefix(key+"."+k.Name, "."), out)
		}
		return
	}
	empty := func(v reflect.Value) bool { return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 }
	switch {
	case !empty(l.all):
		*out = append(*out, Setting{Key: key, Value: Shown(l.all), From: l.from()})
	case !empty(l.repo): // it may not be widened
		*out = append(*out, Setting{Key: key, Value: "none", From: Server})
	}
}

// from says whose value is in force. A server's value that is the default anyway is that.
func (l leaves) from() string {
	same := func(v reflect.Value) bool {
		return !v.IsZero() && reflect.DeepEqual(v.Interface(), l.merged.Interface())
	}
	switch {
	case l.merged.IsZero(), same(l.server) && same(l.def):
		return Default
	case same(l.server): // what a repository says as well changes nothing
		return Server
	case same(l.repo):
		return Repository
	}
	return Both
}

// Shown returns a value as it is written in a file.
func Shown(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if t, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := t.MarshalText()
		if err == nil {
			return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(string(text)) // 72h, as people write it
		}
	}
	switch v.Kind() {
	case reflect.Slice:
		var list []string
		for i := range v.Len() {
			list = append(list, Shown(v.Index(i)))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case reflect.Struct:
		var list []string
		for _, k := range strict.Keys(v.Type()) {
			if f := v.FieldByName(k.Field); !f.IsZero() {
				list = append(list, k.Name+": "+Shown(f))
			}
		}
		return "{" + strings.Join(list, ", ") + "}"
	}
	return fmt.Sprint(v.Interface())
}
