package egress

// A forward is the inner end of a workspace's proxy. It listens at the proxy address known to
// commands, and carries each connection over the tool host's connection to [workspace.Egress].
// It decides nothing.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/handrail-bot/handrail/agent/workspace"
)

// Forward carries connections. It is safe for concurrent use.
type Forward struct {
	conn *workspace.Conn
	l    net.Listener
	ids  atomic.Uint64
	free chan struct{} // full if the maximum number of connections is open
	work sync.WaitGroup

	mu   sync.Mutex
	open map[uint64]*stream // nil after Close
}

// stream is one connection of a command.
type stream struct {
	*net.TCPConn
	once sync.Once
	over chan struct{} // closed when no more data will arrive for it
}

func (s *stream) end() { s.once.Do(func() { close(s.over) }) }

// NewForward carries connections over conn until Close. It fails if this namespace has a
// network besides loopback: with direct access, the proxy would be no wall.
func NewForward(ctx context.Context, conn *workspace.Conn) (*Forward, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("look for networks: %w", err)
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 && i.Flags&net.FlagUp != 0 { //control:egress-own-network
			return nil, fmt.Errorf(
				"this workspace has a network of its own (%s), so a list of hosts would be no wall: use docker or bwrap",
				i.Name,
			)
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", workspace.ProxyAddress)
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	f := &Forward{conn: conn, l: l, free: make(chan struct{}, workspace.MaxStreams), open: map[uint64]*stream{}}
	f.work.Go(func() { f.accept(context.WithoutCancel(ctx)) })
	return f, nil
}

// Environ returns the environment variables that point programs to the proxy.
func (*Forward) Environ() []string {
	var out []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		out = append(out, name+"=http://"+workspace.ProxyAddress)
	}
	host, port, _ := net.SplitHostPort(workspace.ProxyAddress)                   // a constant
	java := "JAVA_TOOL_OPTIONS=-Daether.connector.http.useSystemProperties=true" // Maven 3.9 asks for it
	for _, scheme := range []string{"http", "https"} {
		java += " -D" + scheme + ".proxyHost=" + host + " -D" + scheme + ".proxyPort=" + port
	}
	return append(
		out, "NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1",
		"CARGO_NET_OFFLINE=false", java,
	)
}

// accept accepts connections up to the limit. Further ones wait.
func (f *Forward) accept(ctx context.Context) {
	for {
		f.free <- struct{}{}
		c, err := f.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		tcp, ok := c.(*net.TCPConn)
		if err != nil || !ok { // an error of the kernel, such as too many open files
			<-f.free
			continue
		}
		s, id := &stream{TCPConn: tcp, over: make(chan struct{})}, f.ids.Add(1)
		f.work.Go(func() {
			f.carry(ctx, id, s)
			<-f.free
		})
	}
}

// carry sends the data of a command, piece by piece, each after an acknowledgement.
func (f *Forward) carry(ctx context.Context, id uint64, s *stream) {
	defer func() { _ = s.Close() }()
	f.mu.Lock()
	if f.open == nil {
		f.mu.Unlock()
		return
	}
	f.open[id] = s
	f.mu.Unlock()
	call := func(method string, p workspace.StreamParams) error {
		p.ID = id
		return f.conn.Call(ctx, f.ids.Add(1), method, &p, nil)
	}
	if call(workspace.MethodDial, workspace.StreamParams{}) == nil {
		buf := make([]byte, 64<<10)
		for {
			n, err := s.Read(buf)
			if n > 0 && call(workspace.MethodUp, workspace.StreamParams{Data: buf[:n]}) != nil {
				break // the egress has closed the stream
			}
			if err != nil {
				_ = call(workspace.MethodUp, workspace.StreamParams{End: true})
				break
			}
		}
		<-s.over
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, id)
}

// Down delivers data to a command.
func (f *Forward) Down(p workspace.StreamParams) error {
	f.mu.Lock()
	s := f.open[p.ID]
	f.mu.Unlock()
	if s == nil {
		return fmt.Errorf("carry to command: %w", net.ErrClosed)
	}
	if p.End {
		defer s.end()
		return s.CloseWrite()
	}
	if _, err := s.Write(p.Data); err != nil {
		return fmt.Errorf("carry to command: %w", err)
	}
	return nil
}

// Close ends all connections. The connection below must have ended.
func (f *Forward) Close() {
	_ = f.l.Close()
	f.mu.Lock()
	open := f.open
	f.open = nil
	f.mu.Unlock()
	for _, s := range open {
		_ = s.Close()
		s.end()
	}
	f.work.Wait()
}
