package secret

import (
	"slices"
	"testing"
)

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, kv string
		want     []Value
	}{
		{"token", "GITHUB_TOKEN=abcdefgh", []Value{"abcdefgh"}},
		{"access key", "AWS_SECRET_ACCESS_KEY=eeeeeeee5", []Value{"eeeeeeee5"}},
		{"password in lower case", "db_password=dddddddd4", []Value{"dddddddd4"}},
		{"an editor", "EDITOR=something-long", nil},
		{"lower case", "npm_config__authtoken=abcdefgh", []Value{"abcdefgh"}},
		{"key", "STRIPE_KEY=sk_x12345", []Value{"sk_x12345"}},
		{"key of a service", "OPENAI_API_KEY=sk-12345678", []Value{"sk-12345678"}},
		{"one word", "PGPASSWORD=tiger7", []Value{"tiger7"}},
		{"in the middle", "APP_SECRET_PROD=one two three", []Value{"one two three"}},
		{"salt", "SESSION_SALT=saltsalt", []Value{"saltsalt"}},
		{"a name that says nothing", "HEROKU_X=f3a9Kd82LqPz71mVx0Rt5", []Value{"f3a9Kd82LqPz71mVx0Rt5"}},
		{"hex", "BUILD=9f86d081884c7d659a2feaa0c55ad015", []Value{"9f86d081884c7d659a2feaa0c55ad015"}},
		{"password in an address", "DATABASE_URL=postgres://me:hunter2x@db/app", []Value{"hunter2x"}},
		{"a file", "HANDRAIL_WEBHOOK_SECRET_FILE=/run/secrets/webhook", nil},
		{"a socket", "SSH_AUTH_SOCK=/tmp/ssh-AbCd1234EfGh5678/agent.42", nil},
		{"an id", "AWS_SECRET_ID=production", nil},
		{"where the shell is", "PWD=/srv/handrail", nil},
		{"a path", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", nil},
		{"a host", "HOSTNAME=ip-10-0-12-115-eu-central-1-compute", nil},
		{"a long name", "CLUSTER=production-eu-central-1-blue-2026", nil},
		{"flags", "GOFLAGS=-trimpath -mod=readonly", nil},
		{"a locale", "LC_ALL=en_US.UTF-8", nil},
		{"a version", "NODE_VERSION=20.11.1-bookworm-slim-2026", nil},
		{"a monkey", "MONKEY=banana-banana", nil},
		{"too short", "API_KEY=none", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := FromEnvironment([]string{c.kv}); !slices.Equal(got, c.want) {
				t.Errorf("%s: %d values, want %d", c.kv, len(got), len(c.want))
			}
		})
	}
}
