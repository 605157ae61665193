package base

import "syscall"

func modified(info *syscall.Stat_t) (sec, nsec int64) { return info.Mtim.Unix() }
