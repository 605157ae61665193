package ghapp

import (
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// outside returns a transport that connects to public addresses only. It
// looks at the number that is dialed, after all names were looked up, so a
// name that means something else by then gains nothing. It uses no proxy: a
// proxy would look the name up again.
func outside() *http.Transport {
	d := &net.Dialer{Timeout: 10 * time.Second, Control: onlyPublic}
	return &http.Transport{
		DialContext: d.DialContext, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 15 * time.Second,
		MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
	}
}

// onlyPublic refuses a connection right before it is made.
func onlyPublic(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || !isPublic(at.Addr()) { //control:picture-dialed
		return refused("its address is inside a network")
	}
	return nil
}
