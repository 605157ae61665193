package gitops

import "github.com/handrail-bot/handrail/gitops/base"

// Bases stores the files of commits as directories.
type Bases = base.Store

// BasesConfig configures [Bases]: their location, limits and lifetime.
type BasesConfig = base.Config

// Base is a directory with the files of a commit.
type Base = base.Base

// BaseWant selects the files of a [Base].
type BaseWant = base.Want

// BaseRules select the hidden files of a [Base].
type BaseRules = base.Rules

// Past is the git history inside of a workspace.
type Past = base.Past

// OpenBases opens a store of bases.
func OpenBases(cfg BasesConfig) (*Bases, error) {
	cfg.Refused = refusedName
	return base.Open(cfg)
}
