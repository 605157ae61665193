package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/handrail-bot/handrail/policy"
)

// TestFileKinds: the lists that tell the kinds of files apart are complete.
func TestFileKinds(t *testing.T) {
	var yamlKeys func(reflect.Type) []string
	yamlKeys = func(t reflect.Type) (list []string) {
		for i := range t.NumField() {
			if t.Field(i).Anonymous {
				list = append(list, yamlKeys(t.Field(i).Type)...)
			}
			if key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); key != "" && key != "-" {
				list = append(list, key)
			}
		}
		return list
	}
	server, repository := yamlKeys(reflect.TypeFor[Server]()), yamlKeys(reflect.TypeFor[policy.Config]())
	for _, c := range []struct {
		kind       fileKind
		own, other []string
	}{{serverKeys, server, repository}, {repositoryKeys, repository, server}} {
		for _, key := range c.own {
			if want := !slices.Contains(c.other, key); slices.Contains(c.kind.keys, key) != want {
				t.Errorf("key %q: listed %v, want %v", key, !want, want)
			}
		}
	}
}
