package telemetrytest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

var program = flag.String("telemetry.collector", "", "a real collector of OpenTelemetry in place of the tests' own")

// settings of a real collector: it writes each request as a line of a file.
const settings = `
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {file: {path: %q}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [file]}}
`

// start runs a real collector for the time of a test. Its spans are read once it has ended.
func start(t testing.TB, program string) *Collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	dir := t.TempDir()
	config, written := filepath.Join(dir, "collector.yml"), filepath.Join(dir, "traces.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, settings, at, written), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(program, "--config", "file:"+config)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		close(ended)
	}()
	c := &Collector{URL: "http://" + at}
	c.end = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := <-ended; err != nil {
			t.Errorf("the collector ended with %v: %s", err, &said)
			return
		}
		if err := c.read(written); err != nil {
			t.Errorf("the collector's file: %v", err)
		}
	})
	t.Cleanup(c.end)
	for try, tick := 0, time.NewTicker(50*time.Millisecond); ; try++ {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			conn.Close()
			tick.Stop()
			return c
		}
		if try == 600 {
			t.Fatalf("the collector does not listen: %v", err)
		}
		select {
		case err := <-ended:
			t.Fatalf("the collector ended with %v: %s", err, &said)
		case <-tick.C:
		}
	}
}

// read takes the spans from a collector's file.
func (c *Collector) read(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = data
	for line := range bytes.Lines(data) {
		var got trace.TracesData
		if err := protojson.Unmarshal(line, &got); err != nil {
			return err
		}
		c.add(got.GetResourceSpans())
	}
	for _, s := range c.spans {
		s.TraceId, s.SpanId, s.ParentSpanId = id(s.GetTraceId()), id(s.GetSpanId()), id(s.GetParentSpanId())
		for _, l := range s.GetLinks() {
			l.TraceId, l.SpanId = id(l.GetTraceId()), id(l.GetSpanId())
		}
	}
	return nil
}

// id returns an id that was read as base64, although OTLP writes ids as hexadecimal numbers.
func id(read []byte) []byte {
	out, err := hex.DecodeString(base64.StdEncoding.EncodeToString(read))
	if err != nil {
		return read
	}
	return out
}
