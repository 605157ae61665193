package storetest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// Postgres is a server that runs for the duration of a test. It listens on a socket in
// its own directory.
type Postgres struct {
	dir  string
	bin  string
	cred *syscall.Credential
	n    atomic.Int64
}

// StartPostgres starts a server with the installed programs. Without them it skips the
// test, or fails it if HANDRAIL_REQUIRE_ENGINES names postgres. A durable server waits
// for the disk, for benchmarks.
func StartPostgres(t testing.TB, durable bool) *Postgres {
	t.Helper()
	p := &Postgres{bin: postgresPrograms()}
	var err error
	if p.bin != "" && os.Getuid() == 0 {
		p.cred, err = credential("postgres") // the server refuses to run as root
	}
	if p.bin == "" || err != nil {
		need := "NEEDS POSTGRES: install the server's programs (initdb, pg_ctl) and, for root, its user"
		required := os.Getenv("HANDRAIL_REQUIRE_ENGINES")
		if slices.Contains(strings.FieldsFunc(required, func(r rune) bool { return r == ',' || r == ' ' }), "postgres") {
			t.Fatal(need)
		}
		t.Skip(need)
	}
	p.dir, err = os.MkdirTemp("", "pg") //nolint:usetesting // another user must reach it, and a socket's path is short
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(p.dir)) })
	if p.cred != nil {
		must(t, os.Chown(p.dir, int(p.cred.Uid), int(p.cred.Gid)))
	}
	p.run(t, "initdb", "-D", p.data(), "-A", "trust", "-U", "bot", "-E", "UTF8", "--locale=C", "-N")
	options := "-c listen_addresses='' -c unix_socket_directories=" + p.dir
	if !durable {
		options += " -c fsync=off"
	}
	p.run(t, "pg_ctl", "-D", p.data(), "-w", "-l", filepath.Join(p.dir, "log"), "-o", options, "start")
	t.Cleanup(func() { p.run(t, "pg_ctl", "-D", p.data(), "-w", "-m", "immediate", "stop") })
	return p
}

// Database creates an empty database and returns its address.
func (p *Postgres) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("bot", p.n.Add(1))
	p.run(t, "createdb", "-h", p.dir, "-U", "bot", name)
	return fmt.Sprintf("host=%s user=bot dbname=%s", p.dir, name)
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) run(t testing.TB, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(p.bin, program), args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.cred}
	var out bytes.Buffer
	// The server would keep a pipe open for its whole life.
	file, err := os.CreateTemp(t.TempDir(), "out")
	must(t, err)
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Run(); err != nil {
		_, _ = file.Seek(0, 0)
		_, _ = out.ReadFrom(file)
		t.Fatalf("%s: %v\n%s", program, err, out.String())
	}
}

// postgresPrograms returns the directory of the server's programs, or "".
func postgresPrograms() string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if path, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	for _, dir := range slices.Backward(folders) {
		all := true
		for _, program := range []string{"initdb", "pg_ctl", "createdb", "pg_dump", "psql"} {
			_, err := exec.LookPath(filepath.Join(dir, program))
			all = all && err == nil
		}
		if all {
			return dir
		}
	}
	return ""
}

func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// Dump writes the database at an address of [Postgres.Database] to a file for
// [Postgres.Restore].
func (p *Postgres) Dump(t testing.TB, url, path string) {
	t.Helper()
	out := filepath.Join(p.dir, "dump.sql")
	p.run(t, "pg_dump", "-h", p.dir, "-U", "bot", "--no-owner", "-f", out, "-d", url)
	data, err := os.ReadFile(out)
	must(t, err)
	must(t, os.WriteFile(path, data, 0o600))
}

// Restore creates a database from a dump of [Postgres.Dump] and returns its address.
func (p *Postgres) Restore(t testing.TB, dump []byte) string {
	t.Helper()
	url := p.Database(t)
	path := filepath.Join(p.dir, "restore.sql")
	must(t, os.WriteFile(path, dump, 0o644)) //nolint:gosec // the server's user reads it
	p.run(t, "psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", path, "-d", url)
	return url
}
