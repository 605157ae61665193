package zone

import (
	"path"
	"strings"
)

// obeyedFiles are the names of files, in lower case, that tools read and obey
// without being asked, wherever they lie in a project: settings of agents and
// editors, of package managers and their wrappers, of shells and interpreters.
var obeyedFiles = words(`.envrc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs .pnp.loader.mjs pip.conf .pip.conf .gitattributes .gitmodules .gitconfig
	.mcp.json mcp.json .cursorrules .windsurfrules .clinerules .roorules .aider.conf.yml agents.md claude.md claude.local.md gemini.md copilot-instructions.md
	.devcontainer.json .gitpod.yml lefthook.yml lefthook.yaml lefthook.toml .pre-commit-config.yaml .overcommit.yml conftest.py sitecustomize.py usercustomize.py
	.pythonrc .bazelrc .rspec .irbrc .pryrc .gdbinit .lldbinit .vimrc .exrc .nvimrc .nvim.lua .dir-locals.el .bashrc .bash_profile .bash_aliases .profile .zshrc .zshenv .zprofile
	mise.toml .mise.toml .rprofile .ocamlinit .ghci .wgetrc .curlrc .psqlrc .sqliterc .inputrc .hgrc .terraformrc .ansible.cfg ansible.cfg init.gradle
	nuget.config .condarc .netrc .pypirc .screenrc .tmux.conf .xinitrc .mailrc .lesskey dependabot.yml renovate.json .nycrc.js action.yml action.yaml`)

// obeyedDirs are directories of such files.
var obeyedDirs = words(`.vscode .claude .cursor .windsurf .continue .codex .gemini .roo .clinerules .aider .zed .fleet .devcontainer .idea .mvn .cargo .hg .bundle
	gradle/wrapper .yarn/releases .yarn/plugins node_modules/.bin .venv/bin venv/bin .config .ssh .direnv .githooks .husky .lefthook .github/prompts .github/instructions .github/chatmodes`)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// obeyed reports whether tools obey a file of the workspace. The path is in
// lower case.
func obeyed(p string) bool {
	base := path.Base(p)
	if obeyedFiles[base] || strings.HasSuffix(base, ".pth") || p == "tools/bazel" {
		return true
	}
	for dir := p; dir != "." && dir != "/"; dir = path.Dir(dir) {
		parent := path.Base(path.Dir(dir))
		if last := path.Base(dir); obeyedDirs[last] || obeyedDirs[parent+"/"+last] {
			return base != "extensions.json" && base != ".gitignore"
		}
	}
	return false
}
