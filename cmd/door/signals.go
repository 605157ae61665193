package door

import (
	"os"
	"os/signal"
	"syscall"
)

// EndSignals returns the signals that end a command in good order: Ctrl-C, a stop by the system, and
// the end of the terminal or of the connection to it. Under nohup that last one stays ignored.
func EndSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { //control:hangup-parks
		list = append(list, syscall.SIGHUP)
	}
	return list
}
