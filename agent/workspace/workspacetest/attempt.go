package workspacetest

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// tryTime is the time limit of one attempt. Refusals come at once.
const tryTime = 10 * time.Second

// Try makes an attempt; proxy connects to the proxy. It returns the response, and an
// error for any status but 200.
func (a Attempt) Try(ctx context.Context, proxy func(context.Context) (net.Conn, error)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	if network, address, ok := strings.Cut(a.Dial, " "); ok {
		return straight(ctx, network, address)
	}
	if a.Get != "" {
		return get(ctx, a.Get)
	}
	conn, err := proxy(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(tryTime)); err != nil {
		return "", err
	}
	if a.Then == "" && !strings.HasPrefix(a.Send, "CONNECT") {
		if _, err := io.WriteString(conn, a.Send); err != nil {
			return "", err
		}
		return page(conn)
	}
	if got, err := Connect(conn, a.Send); err != nil {
		return got, err
	}
	name, secure := strings.CutPrefix(a.Then, "tls ")
	if !secure {
		if _, err := io.WriteString(conn, a.Then); err != nil {
			return "", err
		}
		return page(conn)
	}
	c := tls.Client(
		conn,
		&tls.Config{ServerName: name, InsecureSkipVerify: true},
	) //nolint:gosec // who answers is not the question
	if err := c.HandshakeContext(ctx); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: allowed.example\r\nConnection: close\r\n\r\n"); err != nil {
		return "", err
	}
	return page(c)
}

// straight connects without the proxy. A DNS query needs an answer to succeed.
func straight(ctx context.Context, network, address string) (string, error) {
	dns := network == "dns"
	if dns {
		network = "udp"
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if !dns {
		return "connected", nil
	}
	r := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
	_, err = r.LookupHost(ctx, "allowed.example.")
	return "looked up", err
}

// get fetches a page as programs do, which find the proxy in the environment.
func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return read(resp)
}

// Connect sends a CONNECT request and returns the header of the response.
func Connect(conn net.Conn, send string) (string, error) {
	if _, err := io.WriteString(conn, send); err != nil {
		return "", err
	}
	var text strings.Builder
	for b := make([]byte, 1); !strings.HasSuffix(text.String(), "\r\n\r\n"); { // must not read past the header
		if _, err := conn.Read(b); err != nil {
			return text.String(), err
		}
		text.Write(b)
	}
	if !strings.HasPrefix(text.String(), "HTTP/1.1 200 ") {
		return text.String(), errors.New("not connected")
	}
	return text.String(), nil
}

func page(r io.Reader) (string, error) {
	resp, err := http.ReadResponse(bufio.NewReader(r), nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return read(resp)
}

func read(resp *http.Response) (string, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("answer %s", resp.Status)
	}
	return string(body), err
}
