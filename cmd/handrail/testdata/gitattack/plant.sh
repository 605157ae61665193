#!/bin/sh
# Plants what git would run into the repository in the current directory. Each
# plant leaves a file of its name in $MARKS when something runs it, or calls
# on port $PORT of this machine.
#
#   MARKS=dir PORT=n sh plant.sh NAME...
#   sh plant.sh list
set -u
all="fsmonitor hooks hookspath clean process smudge textconv diffcmd extdiff include
includeif editor gpg pager alias askpass credential ssh insteadof merge infoattributes
gitlink gitfile gitsymlink bare submodule names cases objects"

mark() { printf 'touch %s/%s' "$MARKS" "$1"; }
conf() { mkdir -p .git; cat >>.git/config; }
tool() { # file name: a program that leaves a mark
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\n%s\nexec cat\n' "$(mark "$2")" >"$1"
  chmod +x "$1"
}
inner() { # directory name: a git directory that marks when git looks at it
  mkdir -p "$1/objects/info" "$1/refs/heads" "$1/hooks"
  echo 'ref: refs/heads/main' >"$1/HEAD"
  printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = "%s; false"\n' "$(mark "$2")" >"$1/config"
  tool "$1/hooks/post-index-change" "$2-hook"
}

fsmonitor() { printf '[core]\n\tfsmonitor = "%s; false"\n' "$(mark fsmonitor)" | conf; }
hooks() { for h in pre-commit commit-msg prepare-commit-msg post-commit post-checkout post-index-change reference-transaction pre-push post-merge pre-auto-gc; do tool ".git/hooks/$h" hooks; done; }
hookspath() { tool planted-hooks/post-index-change hookspath; tool planted-hooks/pre-commit hookspath; printf '[core]\n\thooksPath = planted-hooks\n' | conf; }
attributes() { printf '* filter=evil diff=evil merge=evil\n' >>.gitattributes; echo "# $1" >>greet.sh; }
clean() { attributes x; printf '[filter "evil"]\n\tclean = "%s; cat"\n\trequired = true\n' "$(mark clean)" | conf; }
process() { attributes x; tool planted-tool process; printf '[filter "evil"]\n\tprocess = "./planted-tool"\n' | conf; }
smudge() { attributes x; printf '[filter "evil"]\n\tsmudge = "%s; cat"\n\tclean = cat\n' "$(mark smudge)" | conf; }
textconv() { attributes x; tool planted-textconv textconv; printf '[diff "evil"]\n\ttextconv = "./planted-textconv"\n' | conf; }
diffcmd() { attributes x; tool planted-diff diffcmd; printf '[diff "evil"]\n\tcommand = "./planted-diff"\n' | conf; }
extdiff() { attributes x; tool planted-ext extdiff; printf '[diff]\n\texternal = "./planted-ext"\n' | conf; }
include() { printf '[core]\n\tfsmonitor = "%s; false"\n' "$(mark include)" >.git/extra; printf '[include]\n\tpath = extra\n' | conf; }
includeif() { printf '[core]\n\tfsmonitor = "%s; false"\n' "$(mark includeif)" >.git/extra2; printf '[includeIf "gitdir:/**"]\n\tpath = extra2\n' | conf; }
editor() { printf '[core]\n\teditor = "%s; false"\n' "$(mark editor)" | conf; }
gpg() { tool planted-gpg gpg; printf '[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = "./planted-gpg"\n' | conf; }
pager() { printf '[core]\n\tpager = "%s; cat"\n[pager]\n\tstatus = true\n\tdiff = true\n' "$(mark pager)" | conf; }
alias_() { printf '[alias]\n\tst = "!%s"\n\tpublish = "!%s"\n' "$(mark alias)" "$(mark alias)" | conf; }
remote() { printf '[remote "evil"]\n\tfetch = +refs/heads/*:refs/remotes/evil/*\n\turl = %s\n' "$1" | conf; }
askpass() { tool planted-ask askpass; printf '[core]\n\taskPass = "./planted-ask"\n' | conf; remote "http://127.0.0.1:$PORT/x.git"; }
credential() { printf '[credential]\n\thelper = "!%s;"\n' "$(mark credential)" | conf; remote "http://127.0.0.1:$PORT/x.git"; }
ssh() { printf '[core]\n\tsshCommand = "%s; false"\n' "$(mark ssh)" | conf; remote "ssh://git@127.0.0.1/x"; }
insteadof() { printf '[protocol]\n\tallow = always\n[url "ext::sh -c %s%% "]\n\tinsteadOf = "http://127.0.0.1"\n[url "http://127.0.0.1:%s/"]\n\tinsteadOf = "https://github.com/"\n' "$(mark insteadof | sed 's/ /% /g')" "$PORT" | conf; remote "http://127.0.0.1/x"; }
merge() { attributes x; tool planted-merge merge; printf '[merge "evil"]\n\tdriver = "./planted-merge"\n' | conf; }
infoattributes() { mkdir -p .git/info; echo '* filter=hidden' >.git/info/attributes; echo '# info' >>greet.sh; printf '[filter "hidden"]\n\tclean = "%s; cat"\n' "$(mark infoattributes)" | conf; }
gitlink() { rm -rf sub; inner sub/.git gitlink; echo text >sub/file; } # the repository has a gitlink there
gitfile() { inner planted-git gitfile; mkdir -p nested; echo 'gitdir: ../planted-git' >nested/.git; echo text >nested/file; }
gitsymlink() { inner planted-git2 gitsymlink; mkdir -p linked; ln -sfn ../planted-git2 linked/.git; echo text >linked/file; }
bare() { inner bare bare; printf '\tworktree = ..\n' >>bare/config; }
submodule() {
  printf '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tupdate = "!%s"\n[submodule "opt"]\n\tpath = opt\n\turl = --upload-pack=%s\n[submodule "-u"]\n\tpath = -u\n\turl = ext::sh -c %s\n' \
    "$(mark submodule)" "$(mark submodule)" "$(mark submodule)" >.gitmodules
  printf '[submodule "sub"]\n\tactive = true\n\turl = %s\n\tupdate = "!%s"\n' "$PWD/.git" "$(mark submodule)" | conf
}
names() {
  printf '[user]\n\tname = "$(%s)"\n\temail = "`%s`@example.com"\n' "$(mark names)" "$(mark names)" | conf
  mkdir -p .git/refs/heads
  head=$(cat .git/refs/heads/* .git/packed-refs 2>/dev/null | grep -o '[0-9a-f]\{40\}' | head -1)
  for r in '--upload-pack=touch' '$(touch names)' ';id' '`id`' '-rf'; do echo "$head" >".git/refs/heads/$r" || true; done
  touch -- '--output=names' '-c core.fsmonitor=x' '$(touch names)' "$(printf 'new\nline')" 2>/dev/null || true
}
cases() { # what other file systems take for .git
  for d in .GIT .Git "$(printf '.g\342\200\214it')" 'git~1' '.git ' '.git.' '.git::$INDEX_ALLOCATION'; do
    mkdir -p "deep/$d/hooks"
    printf '[core]\n\tfsmonitor = "%s"\n' "$(mark cases)" >"deep/$d/config"
  done
  mkdir -p 'GITMOD~1.d' && printf 'x' >'gitmod~1'
}
objects() { # what would change what commits mean
  mkdir -p .git/objects/info .git/refs/replace .git/info
  echo "$MARKS" >.git/objects/info/alternates
  head -c 4096 /dev/zero >.git/objects/info/commit-graph
  head=$(cat .git/refs/heads/main .git/packed-refs 2>/dev/null | grep -o '[0-9a-f]\{40\}' | head -1)
  echo "$head" >".git/refs/replace/$head"
  echo "$head 0000000000000000000000000000000000000001" >.git/info/grafts
  echo "$head" >.git/shallow
}

[ "${1-}" = list ] && { echo $all; exit; }
[ "${1-}" = all ] && set -- $all
for name in "$@"; do
  case $name in alias) alias_ ;; *) "$name" ;; esac
done
