// The storage of set-ups: layers in a directory of this machine, answers in files of the
// user, or in the database that several servers share.

package records

import (
	"os"
	"path/filepath"

	"github.com/handrail-bot/handrail/agent/layer"
	"github.com/handrail-bot/handrail/agent/work"
	"github.com/handrail-bot/handrail/bot/store"
	"github.com/handrail-bot/handrail/cmd/local"
)

// OfUser returns the set-ups of the current user. Layers are stored below other if there
// is no cache directory.
func OfUser(other string) (work.SetUps, error) {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "handrail")
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		dir = other
	}
	state, err := local.Dir()
	if err != nil {
		return work.SetUps{}, err
	}
	layers, err := layer.Open(layer.Config{Dir: filepath.Join(dir, "layers")})
	said := layer.Files(filepath.Join(filepath.Dir(state), "setups"))
	return work.SetUps{Layers: layers, Answers: layer.Answers{Values: said, None: os.ErrNotExist}}, err
}

// OfServer returns the set-ups of a server.
func OfServer(cfg layer.Config, values store.Meta) (work.SetUps, error) {
	layers, err := layer.Open(cfg)
	return work.SetUps{Propose: true, Layers: layers, Answers: layer.Answers{Values: values, None: store.ErrNotFound}}, err
}
