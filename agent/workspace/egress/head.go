package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/handrail-bot/handrail/policy/reach"
)

// maxHead is the maximum size in bytes of a request's head.
const maxHead = 32 << 10

// head is the parsed head of a request. Ambiguous requests are refused.
type head struct {
	raw    []byte
	method string
	host   string // lower case
	port   int
}

// at returns the destination for display.
func (h head) at() string { return h.host + ":" + strconv.Itoa(h.port) }

// printable are the characters allowed in the first line.
const printable = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// methods are the allowed methods of plain HTTP. Others, such as TRACE, echo their input
// or are for proxies.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// malformed refuses a request without further parsing.
func malformed(why string) *refusal {
	return &refusal{status: http.StatusBadRequest, at: "a request to the proxy", why: why}
}

// readHead reads the head of a request up to its empty line.
func readHead(in *bufio.Reader) (head, error) {
	var raw []byte
	for {
		line, err := in.ReadSlice('\n')
		raw = append(raw, line...)
		if len(raw) > maxHead || errors.Is(err, bufio.ErrBufferFull) && len(raw) >= maxHead {
			return head{}, malformed("its head is too long")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			if len(raw) == 0 || !errors.Is(err, io.EOF) {
				return head{}, err // there was no request
			}
			return head{}, malformed("it ends in the middle of its head")
		}
		if bytes.HasSuffix(raw, []byte("\r\n\r\n")) {
			return parseHead(raw)
		}
		if bytes.HasSuffix(raw, []byte("\n\n")) || !bytes.HasSuffix(raw, []byte("\r\n")) {
			return head{}, malformed("a line of it does not end as lines of HTTP do")
		}
	}
}

// parseHead parses a head. It refuses irregularities instead of correcting them: other
// servers on the way may correct them differently.
func parseHead(raw []byte) (head, error) {
	h := head{raw: raw}
	text, ok := strings.CutSuffix(string(raw), "\r\n\r\n")
	if !ok || strings.ContainsFunc(strings.ReplaceAll(text, "\r\n", ""), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) { //control:egress-odd-bytes
		return h, malformed("it has control characters in it")
	}
	lines := strings.Split(text, "\r\n")
	words := strings.Split(lines[0], " ")
	if strings.Trim(lines[0], printable) != "" || len(words) != 3 || words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0" {
		return h, malformed("it is not one of HTTP/1.1: ask for a host with CONNECT, or for http:// with its whole address")
	}
	h.method = words[0]
	authority := words[1]
	usual := "" // default port
	if h.method != http.MethodConnect {
		if !slices.Contains(methods, h.method) {
			return h, malformed("its method is not one of " + strings.Join(methods, ", "))
		}
		rest, ok := strings.CutPrefix(strings.ToLower(words[1]), "http://")
		if !ok {
			return h, malformed("it names no host: plain HTTP is asked for with the whole address, https with CONNECT")
		}
		authority, usual = rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz0123456789-.:"))], "80"
		if next := rest[len(authority):]; next != "" && next[0] != '/' && next[0] != '?' || strings.ContainsAny(rest, "#\\") {
			return h, malformed("its address is not a plain one")
		}
	}
	name, port, err := split(authority, usual)
	if err != nil {
		return h, err
	}
	h.host, h.port = name, port
	return h, h.checkFields(lines[1:], usual)
}

// split splits an authority into host and port.
func split(authority, usual string) (string, int, error) {
	host, port, found := strings.Cut(authority, ":")
	if !found {
		port = usual
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
		return "", 0, malformed(fmt.Sprintf("%s names no port", quote(authority)))
	}
	name, ok := reach.Name(host)
	if !ok {
		return "", 0, refuse(quote(authority), "not the plain name of a host: addresses and other spellings reach nothing")
	}
	return name, n, nil
}

// quote shortens and quotes untrusted input for display.
func quote(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strconv.QuoteToASCII(s)
}

// checkFields checks that the header names the same host as the request line, and the
// length of the body unambiguously.
func (h head) checkFields(lines []string, usual string) error {
	seen, err := fields(lines)
	if err != nil {
		return err
	}
	if host, ok := seen["host"]; ok {
		if usual == "" {
			usual = strconv.Itoa(h.port)
		}
		name, port, err := split(host, usual)
		if err != nil || name != h.host || port != h.port { //control:egress-host-header
			return refuse(h.at(), "because the Host line of the request names "+quote(host)+", another one")
		}
	}
	length, sized := seen["content-length"]
	coding, chunked := seen["transfer-encoding"]
	switch {
	case sized && chunked,
		chunked && !strings.EqualFold(coding, "chunked"),
		sized && (length == "" || len(length) > 15 || strings.Trim(length, "0123456789") != ""):
		return malformed("the length of its body can be read in two ways")
	case h.method == http.MethodConnect && (chunked || sized && length != "0"):
		return malformed("CONNECT has no body")
	}
	return nil
}

// fields parses a header. The keys are in lower case.
func fields(lines []string) (map[string]string, error) {
	seen := map[string]string{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name = strings.ToLower(name)
		if !ok || name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") != "" {
			return nil, malformed("a line of its header is none")
		}
		_, twice := seen[name]
		if twice && (name == "host" || name == "content-length" || name == "transfer-encoding") {
			return nil, malformed("it has two lines " + name)
		}
		seen[name] = strings.Trim(value, " \t")
	}
	return seen, nil
}
