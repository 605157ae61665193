package shell

import (
	"path"
	"strings"
)

// systemCommand follows programs that change disks, processes, services,
// users, the network of the machine and other settings.
func (m *machine) systemCommand(c command) (string, bool) {
	for _, group := range []func(command) (string, bool){m.diskCommand, m.processCommand, m.settingsCommand} {
		if out, ok := group(c); ok {
			return out, true
		}
	}
	return "", false
}

func (m *machine) diskCommand(c command) (string, bool) {
	listing := c.asksHelp() || c.exactly("-l", "--list", "-L", "print", "-p") && !c.exactly("mklabel", "rm", "mkpart")
	switch {
	case c.name == "mkfs" || strings.HasPrefix(c.name, "mkfs.") || c.name == "mke2fs" || c.name == "mkswap" || c.name == "mkntfs" || c.name == "newfs":
		if !c.asksHelp() {
			m.format(c)
		}
	case c.name == "wipefs":
		if c.has("a", "all", "o", "offset") {
			m.r.hit("disk", c.line())
		}
	case baseIs(c.name, "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "partprobe", "partx"):
		if !listing && !c.has("J") {
			m.r.hit("disk", c.line())
		}
	case baseIs(c.name, "blkdiscard", "badblocks", "lvremove", "vgremove", "pvremove", "vgreduce", "lvreduce", "wipedisk", "nwipe", "diskpart", "format"):
		if !c.asksHelp() {
			m.r.hit("disk", c.line())
		}
	case baseIs(c.name, "zpool", "zfs", "btrfs", "mdadm", "cryptsetup", "hdparm", "nvme", "diskutil", "lvm", "dmsetup", "tune2fs", "resize2fs", "fsck", "e2fsck", "lvcreate", "pvcreate", "vgcreate", "xfs_admin", "debugfs"):
		m.volume(c)
	case baseIs(c.name, "mount", "umount", "swapoff", "swapon", "losetup", "fusermount", "pivot_root", "switch_root", "kpartx"):
		if len(c.operands()) > 0 && !c.asksHelp() || c.name != "losetup" && c.has("a", "all") || c.name == "losetup" && c.has("D", "detach-all") {
			m.r.hit("mount", c.line())
		}
	default:
		return "", false
	}
	return unknown, true
}

// format is for programs that write a file system: on an image file in the
// workspace it only costs the image.
func (m *machine) format(c command) {
	for _, a := range c.operands("t", "L", "b", "N", "U", "T", "E", "O", "m", "n") {
		p := m.resolve(a.s)
		if at := placeOf(p); (at == placeWorkspace || at == placeTemp) && strings.Contains(path.Base(p), ".") {
			m.write(p)
			m.r.hit("delete-tree", c.line())
			return
		}
	}
	m.r.hit("disk", c.line())
}

func (m *machine) volume(c command) {
	switch {
	case c.asksHelp() || len(c.args) == 0 || c.exactly("list", "status", "get", "show", "info", "-I", "-i", "--detail", "--examine", "luksDump", "id-ctrl", "smart-log", "usage", "df", "history", "--scan"):
	case c.exactly("destroy", "delete", "luksFormat", "erase", "luksErase", "labelclear", "--zero-superblock", "format", "sanitize", "eraseDisk", "eraseVolume", "secureErase", "zeroDisk", "rollback", "remove", "split") ||
		strings.Contains(c.line(), "security-erase") || strings.Contains(c.line(), "trim-sector"):
		m.r.hit("disk", c.line())
	default:
		m.r.hit("mount", c.line())
	}
}

func (m *machine) processCommand(c command) (string, bool) {
	switch c.name {
	case "shutdown", "reboot", "halt", "poweroff", "init", "telinit", "kexec":
		if !c.exactly("--help", "--version") && (c.name != "init" || len(c.operands()) > 0) {
			m.r.hit("machine-stop", c.line())
		}
	case "kill":
		m.kill(c)
	case "pkill", "killall", "killall5", "skill", "slay", "xkill", "taskkill":
		if !c.exactly("-l", "-0", "--list", "--help") {
			m.r.hit("signals", c.line())
			if c.name == "killall5" || c.has("u") && c.exactly("root", "0") {
				m.r.hit("machine-stop", c.line())
			}
		}
	case "fuser":
		if c.has("k", "kill") {
			m.r.hit("signals", c.line())
		}
	case "stress", "stress-ng", "memtester", "fio", "sysbench", "ab", "wrk", "hey", "siege", "slowloris", "hping3":
		if !c.asksHelp() {
			m.r.hit("exhaust", c.line())
		}
	case "renice":
		m.r.hit("priority", c.line())
	case "gcore", "process_vm_readv", "ptrace", "reptyr":
		m.r.hit("process-memory", c.line())
	default:
		return "", false
	}
	return unknown, true
}

func (m *machine) kill(c command) {
	if c.exactly("-l", "-L", "--list", "-0") {
		return
	}
	var targets []string
	hard := false
	for i, a := range c.args {
		s := a.s
		switch {
		case i == 0 && len(s) > 1 && s[0] == '-' && s != "--":
			hard = strings.Contains(s, "9") || strings.Contains(strings.ToUpper(s), "KILL")
		case s == "--" || s == "-s" || s == "-n":
		case strings.HasSuffix(strings.ToUpper(s), "KILL") || s == "9" && i > 0 && strings.HasPrefix(c.args[i-1].s, "-"):
			hard = true
		default:
			targets = append(targets, s)
		}
	}
	own := len(targets) > 0
	for _, t := range targets {
		if t == "-1" || t == "1" || t == "0" && hard {
			m.r.hit("machine-stop", c.line())
		}
		own = own && strings.HasPrefix(t, "%") // a job of this shell
	}
	switch {
	case hard:
		m.r.hit("signals", c.line())
	case !own && len(targets) > 0:
		m.r.hit("signal", c.line())
	}
}

// settingsTable lists programs that change settings of the machine, and the
// words with which they only read.
var settingsTable = [...]struct{ names, reads, rule string }{
	{"systemctl", "status is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets show cat get-default --version --help list-dependencies is-system-running help", "service"},
	{"service", "status --status-all --help", "service"},
	{"rc-service rc-update initctl launchctl sv s6-svc supervisorctl chkconfig update-rc.d loginctl machinectl invoke-rc.d", "status list show print default --help", "service"},
	{"iptables ip6tables nft ufw firewall-cmd ebtables iptables-restore ip6tables-restore pfctl", "-L --list -S list status --list-all --state -sr --help --version -nL -vnL -nvL -Ln", "machine-network"},
	{"ifconfig", "-a --help", "machine-network"},
	{"ip", "show list -V get help monitor", "machine-network"},
	{"route", "-n --help", "machine-network"},
	{"tc ifdown ifup iwconfig nmcli brctl ethtool netplan wpa_cli dhclient wg wg-quick openvpn", "show list status device general --help --version", "machine-network"},
	{"useradd userdel usermod groupadd groupdel groupmod gpasswd adduser deluser addgroup delgroup passwd chpasswd newusers chsh chfn vipw visudo chage dseditgroup dscl", "-S --help -l --status", "users"},
	{"sysctl", "-a -n --help -A", "machine-settings"},
	{"modprobe insmod rmmod depmod", "-l --help --version -n -c", "machine-settings"},
	{"hostnamectl timedatectl localectl", "status --help show list-timezones list-locales", "machine-settings"},
	{"hostname domainname", "-f -i -I -s -A --fqdn -d --help", "machine-settings"},
	{"hwclock grub-install update-grub efibootmgr update-alternatives dpkg-reconfigure ldconfig setenforce apparmor_parser aa-disable semanage bcdedit csrutil spctl nvram defaults mokutil swapspace sealert auditctl", "-r --show --list --display --query status read -p --help --version -v -l", "machine-settings"},
	{"crontab", "-l --help", "scheduled"},
	{"atrm anacron", "--help", "scheduled"},
	{"journalctl", "", "journal"},
}

func (m *machine) settingsCommand(c command) (string, bool) {
	if c.name == "ip" && len(c.args) > 3 && c.args[0].s == "netns" && c.args[1].s == "exec" {
		m.r.hit("namespace", c.line())
		return m.exec(c.args[3:]), true
	}
	if under(path.Dir(path.Clean(c.path)), "/etc/init.d", "/etc/rc.d", "/usr/local/etc/rc.d") && !c.exactly("status") {
		m.r.hit("service", c.line())
		return unknown, true
	}
	if c.name == "dmesg" && c.has("c", "C", "clear", "read-clear") {
		m.r.hit("journal", c.line())
		return unknown, true
	}
	for _, t := range settingsTable {
		if !hasWord(t.names, c.name) {
			continue
		}
		if c.exactly(strings.Fields(t.reads)...) || onlyLooks(c) {
			return unknown, true
		}
		if c.name == "systemctl" && c.exactly("poweroff", "reboot", "halt", "kexec", "rescue", "emergency", "suspend", "hibernate", "isolate") {
			m.r.hit("machine-stop", c.line())
		}
		if c.name == "crontab" {
			m.crontab(c)
		}
		m.r.hit(t.rule, c.line())
		return unknown, true
	}
	return "", false
}

// hasWord reports whether a list of words separated by spaces has a word.
func hasWord(list, w string) bool {
	for at := 0; w != ""; {
		i := strings.Index(list[at:], w)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(w)
		if (i == 0 || list[i-1] == ' ') && (end == len(list) || list[end] == ' ') {
			return true
		}
		at = end
	}
	return false
}

// onlyLooks is for settings programs that read when they have no argument
// that changes something.
func onlyLooks(c command) bool {
	ops := c.operands()
	switch c.name {
	case "systemctl", "ifconfig", "route", "hostname", "hostnamectl", "timedatectl", "ip", "localectl", "loginctl", "nmcli", "ufw":
		return len(ops) == 0 && !c.has("F", "r") || c.name == "ip" && len(ops) == 1 || c.name == "ifconfig" && len(ops) == 1
	case "sysctl":
		return !c.has("w", "p", "write", "load", "system") && !strings.Contains(c.line(), "=")
	case "journalctl":
		return !c.has("vacuum-size", "vacuum-time", "vacuum-files", "rotate", "flush")
	case "chage":
		return c.has("l")
	}
	return false
}

// crontab follows the table a crontab command installs.
func (m *machine) crontab(c command) {
	ops := c.operands("u")
	switch {
	case len(ops) > 0 && ops[0].s != "-":
		text := ops[0].s
		if m.hasFile(m.resolve(text)) {
			text = m.files[m.resolve(text)]
		} else if text = marksOf(text); text == "" {
			return
		}
		m.crontabText(text)
	case m.given():
		m.crontabText(m.stdin())
	}
}

// crontabText follows the lines of a crontab.
func (m *machine) crontabText(text string) {
	if strings.Contains(text, remote) {
		m.r.hit("remote-code", "crontab")
	}
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.Fields(strings.TrimLeft(line, allMarks))
		if len(f) > 5 && !strings.HasPrefix(f[0], "#") && !strings.HasPrefix(f[0], "@") {
			m.nested(strings.Join(f[5:], " "))
		} else if len(f) > 1 && strings.HasPrefix(f[0], "@") {
			m.nested(strings.Join(f[1:], " "))
		}
	}
}
