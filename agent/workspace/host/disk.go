package host

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// disk measures the disk usage of files. The file system reports its growth at once, from
// any process; the directories are scanned only if that could exceed the limit.
type disk struct {
	dirs  []string
	views []string
	limit int64
	list  func(brief bool) []int

	start    int64         // usage of the directories at the beginning
	files    int64         // usage added since, as of the last scan
	used     map[int]int64 // by directory: filled bytes of its file system at that scan
	first    map[int]int64 // likewise, at the beginning
	scanTime time.Duration // estimated time of a scan, by number of files: a clock would include other programs
	when     time.Time
	due      bool  // something has ended since, and may have left files
	blind    int   // number of scans in a row with unreadable directories
	floor    int64 // lowest usage since the limit was exceeded, else 0
}

func newDisk(ctx context.Context, c watchConfig) *disk {
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

// minDisk is the number of bytes that a session may always take: it is not to blame for
// a disk that is full for other reasons.
const minDisk = 32 << 20

// perFile is the estimated time to stat a file.
const perFile = 3 * time.Microsecond

// maxScanWait is the maximum time of a scan for which the result of a command waits. For a
// longer scan, the next call waits instead.
const maxScanWait = 100 * time.Millisecond

// watchPatience is the number of scans in a row that leave directories closed while a command
// runs.
const watchPatience = 8

// slack is the number of bytes that a session over its limit may still add, such as the
// shell's own history.
const slack = 1 << 20

// over returns the reason why the usage is too high, or "".
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
	return fmt.Sprintf(
		"the files of this session take %s on the server's disk; %s are allowed: %s",
		watchSize(d.files),
		watchSize(allowed),
		what,
	)
}

// needed reports whether to scan the directories now. The figures of the file system do
// not suffice: deletions by others hide growth.
func (d *disk) needed(allowed int64) bool {
	suspect := d.floor > 0 || d.files+d.growth() > allowed
	if d.due && (suspect || d.scanTime < maxScanWait) {
		return true
	}
	since := time.Since(d.when)
	return since >= 10*d.scanTime &&
		(suspect || d.due || since >= max(250*time.Millisecond, min(50*d.scanTime, time.Second)))
}

// wrote counts a written file until the next scan.
func (d *disk) wrote(bytes int64) {
	if d.limit > 0 {
		d.files += max(bytes, minFileCost)
		d.due = d.due || d.files > d.allowed()
	}
}

// settle measures the usage after something has ended.
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

// full returns the reason why writes are refused, or "".
func (d *disk) full() string {
	if d.floor == 0 {
		return ""
	}
	return fmt.Sprintf(
		"the files of this session take %s on the server's disk, which is too much: delete what is not needed first",
		watchSize(d.files),
	)
}

// allowed returns the limit, or less if the file system is nearly full: a twentieth of
// it, at most 1 GiB, stays free for the server.
func (d *disk) allowed() int64 {
	most := d.limit
	for _, dir := range d.dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil {
			continue
		}
		reserve := min(int64(st.Blocks)*diskBlock(&st)/20, 1<<30)
		most = min(most, d.files+d.growth()+int64(st.Bavail)*diskBlock(&st)-reserve)
	}
	return max(most, min(minDisk, d.limit))
}

// growth returns the growth of the file systems since the last scan, in bytes.
func (d *disk) growth() (n int64) {
	seen := map[unix.Fsid]bool{}
	for i, dir := range d.dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil && !seen[st.Fsid] {
			seen[st.Fsid] = true
			now := filled(&st)
			d.used[i] = min(d.used[i], now) // deletions by others must not hide growth
			n += now - d.used[i]
		}
	}
	return n
}

func filled(st *unix.Statfs_t) int64 {
	return int64(st.Blocks-st.Bfree)*diskBlock(st) + int64(st.Files-st.Ffree)*minFileCost
}

// diskBlock returns the size of a block. Its type differs between systems.
func diskBlock(st *unix.Statfs_t) int64 { return int64(st.Bsize) }

// measure scans the directories.
func (d *disk) measure(ctx context.Context, brief bool) {
	d.used = map[int]int64{}
	var st unix.Statfs_t
	for i, dir := range d.dirs {
		if unix.Statfs(dir, &st) == nil {
			d.used[i] = filled(&st)
		}
	}
	t := tally{ctx: ctx, seen: map[fileID]bool{}}
	if d.due || d.floor > 0 || d.blind >= watchPatience { // a command may be filling a closed directory
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
		d.addDeletedOpen(t.blind, brief)
	}
	d.when, d.scanTime = time.Now(), time.Duration(t.count)*perFile
}

// addDeletedOpen adds the usage of deleted files that processes hold open. blind means that
// some directories could not be read.
func (d *disk) addDeletedOpen(blind, brief bool) {
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
	// Unreadable places may hold everything that was added.
	for i := range d.dirs {
		d.files = max(d.files, d.used[i]-d.first[i])
	}
}
