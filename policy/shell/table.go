package shell

import (
	"path"
	"strings"
	"sync"

	"github.com/handrail-bot/handrail/policy/shell/argv"
	"github.com/handrail-bot/handrail/policy/shell/zone"
)

// rule follows a command of a program that it knows, records what it finds,
// and returns what the command prints.
type rule func(c *command, f *finding) string

// families says which rule follows a program: a rule of its own goes here. What
// a program does by its sub-command alone needs no rule of its own but a line
// in tables.txt, see rulesByProgram.
func families() []family {
	return []family{
		// The shell itself.
		{": true false test [ exit return break continue wait jobs fg bg disown shift getopts hash enable logout times shopt umask ulimit history pushd popd dirs cd unset unalias sleep caller suspend", builtin},
		{"echo", echo}, {"printf", printf}, {"set", set}, {"eval", eval}, {"source .", source}, {"trap", trap}, {"read", read}, {"readarray mapfile", readLines},
		{"alias", alias}, {"export declare local typeset readonly", declareWords}, {"compgen complete", complete}, {"bind", bind}, {"which type command-v", which},
		{"pwd", pwd}, {"printenv", printenv}, {"command", commandBuiltin},
		// Text tools.
		{"cat zcat gzcat tac rev head tail sort uniq nl fold bat pv sponge base64 base32 xxd tr cut strings dos2unix paste", textTool},
		{"less more", pager}, {"awk gawk mawk nawk", awk}, {"sed gsed", sed}, {"grep egrep fgrep rg", grep}, {"tee", tee}, {"jq gojq jaq", jq},
		{"basename dirname realpath readlink", pathTool}, {"seq", sequence}, {"yes", yes}, {"mktemp", makeTemp}, {"date", date},
		// Commands in commands.
		{"xargs gxargs", xargs}, {"parallel", parallel}, {"su sg newgrp sudoedit", su}, {"at batch", later}, {"watch", watch}, {"hyperfine", benchmark},
		{"tmux screen expect", terminal}, {"script nix-shell capsh", textOption},
		// Interpreters.
		{"vi vim nvim view ex ed emacs", editor}, {"gdb lldb", debugger}, {"dc", calculator}, {"m4", macros}, {"man info", manual},
		{"gcc cc clang g++ tcc clang++", compiler}, {"rustc javac java kotlinc dotnet zig swiftc ocamlopt dmd", builder},
		// Files.
		{"rm unlink rmdir srm trash del rimraf trash-put shred scrub wipe", removeFiles}, {"mv", move}, {"cp install ln link gcp ditto", copyFiles}, {"rsync", rsync},
		{"touch mkdir mkfifo mknod truncate fallocate", create}, {"patch split csplit", divide}, {"chmod chown chgrp", permissions}, {"dd", dd},
		{"tar gtar bsdtar unzip 7z 7za cpio unrar zip gzip gunzip bzip2 xz zstd ar", archive},
		{"find gfind", searchFiles}, {"fd fdfind", fd}, {"ls dir exa eza lsd", listFiles}, {"locate plocate mlocate", locate},
		// The machine.
		{"mkfs mke2fs mkswap mkntfs newfs", format}, {"wipefs", wipe}, {"fdisk sfdisk cfdisk gdisk sgdisk parted partprobe partx", partition},
		{"zpool zfs btrfs mdadm cryptsetup hdparm nvme diskutil lvm dmsetup tune2fs resize2fs fsck e2fsck lvcreate pvcreate vgcreate xfs_admin debugfs", volume},
		{"mount umount swapoff swapon losetup fusermount pivot_root switch_root kpartx", mount}, {"shutdown reboot halt poweroff init telinit kexec", stopMachine},
		{"kill", kill}, {"pkill killall killall5 skill slay xkill taskkill", killByName}, {"fuser", fuser}, {"dmesg", dmesg},
		// The network.
		{"curl wget wget2 http https xh aria2c axel fetch lwp-download lynx w3m links elinks curlie youtube-dl yt-dlp gdown gallery-dl you-get", download},
		{"nc ncat netcat socat telnet nmap-ncat", netcat}, {"ssh mosh autossh sshpass rsh slogin dbclient", ssh}, {"openssl", openssl},
		{"scp sftp ftp lftp rcp tftp rclone croc wormhole magic-wormhole", remoteCopy}, {"mail mailx sendmail mutt msmtp swaks", mail},
		{"dig nslookup host drill ping ping6 traceroute tracepath mtr whois getent kdig resolvectl", asksName},
		{"git hub", git}, {"gh glab", forge}, {"ssh-add ssh-keygen gpg gpg2", keys}, {"logger wall write notify-send", announce},
		// Packages.
		{"go", goTool}, {"npm pnpm yarn", packageTool}, {"make gmake just task rake mage", build}, {"cmake", cmake},
		{"poetry pipenv uv pdm rye hatch bundle conda mamba mise asdf direnv nix op doppler aws-vault pixi rbenv pyenv nvm dotenvx npx bunx pnpx cargo hatchling chamber infisical devbox flox nodemon concurrently turbo npm-run-all cross-env wireit tsx-watch coverage", runner},
		// Containers, clusters, clouds, databases.
		{"docker podman nerdctl", engine}, {"kubectl oc", cluster}, {"aws gcloud az gsutil s3cmd mc bq azcopy b2 s5cmd", cloud},
		{"ansible vagrant salt pdsh clush pssh dsh", elsewhere},
		{"psql mysql mariadb sqlite3 redis-cli mongo mongosh duckdb cqlsh clickhouse-client sqlcmd dropdb dropuser mysqladmin createdb pg_restore", database},
		{"alembic kafka-topics kafka-topics.sh kafka-consumer-groups", migration},
	}
}

// family is programs with one rule.
type family struct {
	programs string
	follow   rule
}

// rulesOf is the rules by program. They are joined when the first command is
// looked at.
var rulesOf = sync.OnceValue(rulesByProgram)

// rulesByProgram is every program that is known.
func rulesByProgram() map[string]rule {
	t := tables()
	rules := map[string]rule{}
	for _, name := range []string{"reads", "looks", "checkers", "project-tools"} {
		for program := range t.lists[name] {
			rules[program] = plain
		}
	}
	for program := range t.subs {
		rules[program] = subcommands
	}
	for program := range t.tasks {
		rules[program] = migration
	}
	for program := range t.settings {
		rules[program] = setting
	}
	for program := range t.wraps {
		rules[program] = wrapper
	}
	for program := range t.lists["shells"] {
		rules[program] = shell
	}
	for program := range t.lists["languages"] {
		rules[program] = language
	}
	for _, row := range families() {
		for program := range strings.FieldsSeq(row.programs) {
			rules[program] = row.follow
		}
	}
	return rules
}

// ruleOf is the rule of a command.
func (w *walk) ruleOf(c *command) rule {
	if zone.Under(path.Dir(path.Clean(c.path)), "/etc/init.d", "/etc/rc.d", "/usr/local/etc/rc.d") {
		return initScript
	}
	if r, ok := w.rules[c.name]; ok {
		return r
	}
	switch {
	case strings.HasPrefix(c.name, "git-"):
		return w.rules["git"]
	case strings.HasPrefix(c.name, "mkfs."):
		return w.rules["mkfs"]
	}
	return unlisted
}

// unlisted is for a program that no rule knows.
func unlisted(c *command, f *finding) string {
	if !strings.HasPrefix(c.name, "-") { // which is no program
		f.unknown = addTo(f.unknown, c.name)
	}
	return plain(c, f)
}

// plain is the rule of programs that are unknown or harmless. They may be
// wrappers: of a command in their arguments only what would be critical counts.
func plain(c *command, _ *finding) string {
	for i, a := range c.List {
		if name := programName(a.S); dangerous(name) && !strings.HasSuffix(a.S, "/") {
			c.onlyCritical(c.List[i:], c.line())
			break
		}
	}
	return c.passOn()
}

// subcommands follows a program whose sub-commands are in the tables.
func subcommands(c *command, f *finding) string {
	if out, ok := subcommand(c, f); ok {
		return out
	}
	return plain(c, f)
}

func subcommand(c *command, f *finding) (string, bool) {
	if c.asksHelp() {
		return unknown, false
	}
	readings := operandReadings(c)
	for _, r := range tables().subs[c.name] {
		for _, ops := range readings {
			if !fitsAny(r.subs, ops, c) {
				continue
			}
			if len(r.rule) == 0 || c.Exactly(r.unless...) {
				return c.passOn(), true
			}
			return implied(c, f, r.rule[0], ops), true
		}
	}
	if readings[0].At(0) == unknown {
		f.hit("unknown-command", c.line())
	}
	return "", false
}

// operandReadings are the operands of a command; when an option that nobody
// knows stands before the first, also without the first.
func operandReadings(c *command) []argv.List {
	ops := c.OperandsAfter(tables().takes[c.name]...)
	out := []argv.List{ops}
	for i, a := range c.List {
		if len(a.S) < 2 || a.S[0] != '-' {
			if before := c.At(i - 1); len(ops) > 1 && len(before) > 1 && before[0] == '-' && !strings.Contains(before, "=") {
				out = append(out, ops[1:])
			}
			break
		}
	}
	return out
}

// fitsAny reports whether the operands begin with one of the sub-commands.
func fitsAny(subs []string, ops argv.List, c *command) bool {
	goals := c.is("mvn", "mvnw", "gradle", "gradlew", "sbt", "lein") // any operand may be one
	for _, s := range subs {
		switch {
		case s == "-":
			if len(ops) == 0 {
				return true
			}
		case s[0] == '-':
			for _, a := range c.List {
				if a.S == s || strings.HasSuffix(s, "*") && strings.HasPrefix(a.S, strings.TrimSuffix(s, "*")) {
					return true
				}
			}
		case len(ops) == 0:
		case s == "*" || fitsWord(s, ops, goals):
			return true
		}
	}
	return false
}

// fitsWord compares the operands with one sub-command.
func fitsWord(s string, ops argv.List, anywhere bool) bool {
	first, second, two := strings.Cut(s, ":")
	if two && len(ops) > 1 && first == ops[0].S && (second == "*" || second == ops[1].S) {
		return true
	}
	for i, a := range ops {
		if i > 0 && !anywhere {
			break
		}
		if a.S == s || two && second == "*" && strings.HasPrefix(a.S, first+":") {
			return true
		}
		if ok, err := path.Match(s, a.S); strings.Contains(s, "*") && (!two || anywhere) && err == nil && ok {
			return true
		}
	}
	return false
}

// implied records the rule of a sub-command, and looks at what else the
// command asks for.
func implied(c *command, f *finding, name string, ops argv.List) string {
	f.network = f.network || in("network-rules", name)
	switch name {
	case "infrastructure-delete":
		deleteInfrastructure(c, f)
		return unknown
	case "package-config-go":
		goSetting(c, f)
		return unknown
	case "package-config":
		packageSetting(c, f)
		return unknown
	case "cloud-read":
		return unknown
	case "auth-status":
		if c.Has("t", "show-token") {
			f.hit("secret-read", c.line())
			return secret
		}
		return unknown
	case "container":
		container(c, f, ops)
	case "packages", "package-run":
		packageSource(c, f)
		runPackage(c, name, ops)
	case "remote-change":
		posted(c, f)
	case "git-fetch":
		released(c)
	case "infrastructure":
		if at := c.Index("--"); at >= 0 && at+1 < len(c.List) && c.Exactly("exec", "run", "debug") {
			c.exec(c.List[at+1:])
		}
	}
	f.hit(name, c.line())
	if name == "secret-read" {
		return secret
	}
	return unknown
}

// runPackage follows the command that a package runner is given.
func runPackage(c *command, name string, ops argv.List) {
	runs := oneOf(ops.At(0), "exec", "x", "dlx")
	if name != "package-run" && !runs {
		return
	}
	if v, ok := c.Value("c", "call"); ok {
		c.nested(v)
	}
	if runs || ops.At(0) == "run" {
		ops = ops[1:]
	}
	switch {
	case len(ops) == 0:
	case c.is("yarn") && len(ops) == 1:
		c.nested(ops[0].S)
	default:
		c.exec(c.From(c.Index(ops[0].S)))
	}
}

func wordsOf(text string) argv.List { return argv.Of(strings.Fields(text)...) }
