package lsp

import (
	"os"
	"testing"

	"github.com/handrail-bot/handrail/policy/longtest"
)

func TestMain(m *testing.M) {
	longtest.Wide(16) // they wait for servers
	os.Exit(m.Run())
}
