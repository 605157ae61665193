package policy

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/handrail-bot/handrail/policy/strict"
)

// SettingInForce is a key of the configuration with its effective value and its source: one of
// the constants below.
type SettingInForce struct {
	Key, Value, From string
}

// The sources of settings.
const (
	FromServer     = "server"
	FromRepository = "repository"
	Both           = "server and repository"
	Default        = "default"
)

// SettingsInForce returns the effective configuration of a repository: the server's merged with the
// repository's, and the defaults. model applies if the server's configuration names none.
// Unset keys without a default are left out.
func SettingsInForce(server, repo Config, model string) []SettingInForce {
	if server.Model == "" {
		server.Model = model
	}
	merged := Merge(server, repo)
	merged.SensitiveFiles = append(
		slices.Clone(server.SensitiveFiles),
		repo.SensitiveFiles...) // both apply, see [policy.Config.Above]
	var out []SettingInForce
	l := leaves{
		server: reflect.ValueOf(server),
		repo:   reflect.ValueOf(repo),
		merged: reflect.ValueOf(merged),
		all:    reflect.ValueOf(merged.WithDefaults()),
		def:    reflect.ValueOf(DefaultConfig()),
	}
	l.walk("", &out)
	return out
}

// leaves holds the same field of several configurations.
type leaves struct{ server, repo, merged, all, def reflect.Value }

func (l leaves) walk(key string, out *[]SettingInForce) {
	if l.all.Kind() == reflect.Struct {
		for _, k := range strict.Keys(l.all.Type()) {
			part := func(v reflect.Value) reflect.Value { return v.FieldByName(k.Field) }
			leaves{
				part(l.server),
				part(l.repo),
				part(l.merged),
				part(l.all),
				part(l.def),
			}.walk(
				strings.TrimPrefix(key+"."+k.Name, "."),
				out,
			)
		}
		return
	}
	empty := func(v reflect.Value) bool { return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 }
	switch {
	case !empty(l.all):
		*out = append(*out, SettingInForce{Key: key, Value: ShownValue(l.all), From: l.from()})
	case !empty(l.repo): // the repository may not widen it
		*out = append(*out, SettingInForce{Key: key, Value: "none", From: FromServer})
	}
}

// from returns the source of the value. A server value equal to the default counts as
// the default.
func (l leaves) from() string {
	same := func(v reflect.Value) bool {
		return !v.IsZero() && reflect.DeepEqual(v.Interface(), l.merged.Interface())
	}
	switch {
	case l.merged.IsZero(), same(l.server) && same(l.def):
		return Default
	case same(l.server): // an equal value in the repository changes nothing
		return FromServer
	case same(l.repo):
		return FromRepository
	}
	return Both
}

// ShownValue formats a value as in a configuration file.
func ShownValue(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if t, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := t.MarshalText()
		if err == nil {
			return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(string(text)) // 72h instead of 72h0m0s
		}
	}
	switch v.Kind() {
	case reflect.Slice:
		var list []string
		for i := range v.Len() {
			list = append(list, ShownValue(v.Index(i)))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case reflect.Struct:
		var list []string
		for _, k := range strict.Keys(v.Type()) {
			if f := v.FieldByName(k.Field); !f.IsZero() {
				list = append(list, k.Name+": "+ShownValue(f))
			}
		}
		return "{" + strings.Join(list, ", ") + "}"
	}
	return fmt.Sprint(v.Interface())
}
