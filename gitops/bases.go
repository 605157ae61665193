package gitops

import "github.com/handrail-bot/handrail/gitops/base"

// Bases has the files of commits as directories.
type Bases = base.Store

// BasesConfig says where [Bases] are kept, and how long.
type BasesConfig = base.Config

// Base is the files of a commit.
type Base = base.Base

// BaseWant is what files a caller wants.
type BaseWant = base.Want

// BaseRules say which files are hidden.
type BaseRules = base.Rules

// Past says what git shows inside of a workspace.
type Past = base.Past

// OpenBases opens a store of bases.
func OpenBases(cfg BasesConfig) (*Bases, error) {
	cfg.Refused = refusedName
	return base.Open(cfg)
}
