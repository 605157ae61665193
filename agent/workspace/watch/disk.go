package watch

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// disk measures what files take. The file system tells at once by how much it
// has filled, whoever did that; the directories are gone through only when that
// could be too much.
type disk struct {
	dirs  []string
	views []string
	limit int64
	list  func(brief bool) []int

	start int64         // what the directories took at the beginning
	files int64         // what they took when they were last gone through
	used  map[int]int64 // of the file system of each directory, then
	first map[int]int64 // likewise, at the beginning
	took  time.Duration // going through them, by their number: the clock would count other programs
	when  time.Time
	due   bool  // something has ended since, and may have left anything
	blind int   // how often in a row there were closed directories
	floor int64 // since too much was found: the least that was left, else 0
}

func newDisk(ctx context.Context, c Config) *disk {
	d := &disk{limit: c.Disk, views: c.Views, list: c.List}
	for _, dir := range c.Dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			d.dirs = append(d.dirs, dir)
		}
	}
	if d.limit <= 0 {
		return d
	}
	d.measure(ctx, false)
	d.start, d.first = d.files, d.used
	d.files = 0
	return d
}

// leastDisk is what a session may always take: a server's disk that is full
// for other reasons is no fault of its own.
const leastDisk = 32 << 20

// perFile is what it takes to look at a file.
const perFile = 3 * time.Microsecond

// cheap is how long the result of a command may wait until the directories are
// gone through. Where that takes longer, the next call waits for it.
const cheap = 100 * time.Millisecond

// patience is how often directories that are closed while a command runs are
// left closed.
const patience = 8

// slack is what a session that has too much may still add, such as the shell's
// own history.
const slack = 1 << 20

// over returns what is wrong, or "".
func (d *disk) over(ctx context.Context, brief bool) string {
	if d.limit <= 0 {
		return ""
	}
	allowed := d.allowed()
	if !d.needed(allowed) {
		return ""
	}
	d.measure(ctx, brief)
	if d.files <= allowed { //control:watched-disk
		d.floor = 0
		return ""
	}
	if d.floor > 0 && d.files <= d.floor+slack {
		d.floor = min(d.floor, d.files)
		return ""
	}
	what := "delete what is not needed"
	if allowed < d.limit {
		what = "the disk is nearly full"
	}
	return fmt.Sprintf("the files of this session take %s on the server's disk; %s are allowed: %s", size(d.files), size(allowed), what)
}

// needed reports whether the directories are to be gone through now. What the
// file system says is not enough: others who delete meanwhile hide what is added.
func (d *disk) needed(allowed int64) bool {
	suspect := d.floor > 0 || d.files+d.grown() > allowed
	if d.due && (suspect || d.took < cheap) {
		return true
	}
	since := time.Since(d.when)
	return since >= 10*d.took && (suspect || d.due || since >= max(250*time.Millisecond, min(50*d.took, time.Second)))
}

// wrote adds a file that was written, until the directories are gone through.
func (d *disk) wrote(bytes int64) {
	if d.limit > 0 {
		d.files += max(bytes, least)
		d.due = d.due || d.files > d.allowed()
	}
}

// settle measures what is left after something ended.
func (d *disk) settle(ctx context.Context) {
	if d.limit <= 0 {
		return
	}
	d.due = true
	d.measure(ctx, false)
	d.floor = 0
	if d.files > d.allowed() {
		d.floor = d.files
	}
}

// full returns why nothing more may be written, or "".
func (d *disk) full() string {
	if d.floor == 0 {
		return ""
	}
	return fmt.Sprintf("the files of this session take %s on the server's disk, which is too much: delete what is not needed first", size(d.files))
}

// allowed returns the limit, or less when the file system has little room: a
// twentieth of it, at most a gigabyte, stays free for the server.
func (d *disk) allowed() int64 {
	most := d.limit
	for _, dir := range d.dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil {
			continue
		}
		reserve := min(int64(st.Blocks)*block(&st)/20, 1<<30)
		most = min(most, d.files+d.grown()+int64(st.Bavail)*block(&st)-reserve)
	}
	return max(most, min(leastDisk, d.limit))
}

// grown returns by how much the file systems have filled since the directories
// were gone through.
func (d *disk) grown() (n int64) {
	seen := map[unix.Fsid]bool{}
	for i, dir := range d.dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && !seen[st.Fsid] {
			seen[st.Fsid] = true
			now := filled(&st)
			d.used[i] = min(d.used[i], now) // where others delete, less must not hide more
			n += now - d.used[i]
		}
	}
	return n
}

func filled(st *unix.Statfs_t) int64 {
	return int64(st.Blocks-st.Bfree)*block(st) + int64(st.Files-st.Ffree)*least
}

// block returns the size of a block, whose type differs between systems.
func block(st *unix.Statfs_t) int64 { return int64(st.Bsize) }

// measure goes through the directories.
func (d *disk) measure(ctx context.Context, brief bool) {
	d.used = map[int]int64{}
	var st unix.Statfs_t
	for i, dir := range d.dirs {
		if unix.Statfs(dir, &st) == nil {
			d.used[i] = filled(&st)
		}
	}
	t := tally{ctx: ctx, seen: map[inode]bool{}}
	if d.due || d.floor > 0 || d.blind >= patience { // a command may be at work behind a door
		t.doors = &doors{dirs: d.dirs, views: d.views} //control:closed-doors
	}
	d.due = false
	for _, dir := range d.dirs {
		t.add(dir)
	}
	if d.blind++; !t.blind {
		d.blind = 0
	}
	d.files = max(0, t.bytes-d.start)
	if d.first != nil {
		d.nameless(t.blind, brief)
	}
	d.when, d.took = time.Now(), time.Duration(t.count)*perFile
}

// nameless adds what deleted files take that processes still hold open. blind
// says that there are directories that cannot be read.
func (d *disk) nameless(blind, brief bool) {
	dev := map[uint64]bool{}
	for _, dir := range slices.Concat(d.dirs, d.views) {
		var at unix.Stat_t
		if unix.Stat(dir, &at) == nil {
			dev[device(&at)] = true
		}
	}
	bytes, hidden := deletedOpen(d.list(brief), dev)
	d.files += bytes
	if !blind && !hidden {
		return
	}
	// What cannot be looked into may hold all that has been added.
	for i := range d.dirs {
		d.files = max(d.files, d.used[i]-d.first[i])
	}
}
