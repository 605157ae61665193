package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector sends spans to a collector, as OTLP over HTTP. It implements
// [otlptrace.Client] without gRPC, whose packages would slow every start of the program.
type collector struct {
	url     string
	headers http.Header
	http    *http.Client
}

// attempts is the maximum number of requests for the same spans, with a growing pause.
const attempts = 3

func newCollector(cfg TracesConfig) (*collector, error) {
	at, err := url.Parse(cfg.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("read the address of the collector: %w", err)
	}
	if strings.Trim(at.Path, "/") == "" {
		at = at.JoinPath("v1/traces")
	}
	headers, err := headersOf(cfg.Headers)
	if err != nil {
		return nil, err
	}
	return &collector{at.String(), headers, &http.Client{
		Transport: cfg.Transport,
		Timeout:   cfg.limit(sendTime),
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the headers are for the collector alone
		},
	}}, nil
}

// headersOf reads headers in the form of OTEL_EXPORTER_OTLP_HEADERS. The error contains
// nothing of them.
func headersOf(list string) (http.Header, error) {
	out := http.Header{}
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !ok || err != nil || key == "" {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS must have the form key=value,key=value")
		}
		out.Set(key, value)
	}
	return out, nil
}

// Start implements [otlptrace.Client].
func (c *collector) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (c *collector) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements [otlptrace.Client].
func (c *collector) UploadTraces(ctx context.Context, spans []*trace.ResourceSpans) error {
	body, err := proto.Marshal(&trace.TracesData{ResourceSpans: spans}) // the bytes of an ExportTraceServiceRequest
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		again, err := c.send(ctx, body)
		if err == nil || !again || n == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(n) * time.Second):
		}
	}
}

// send makes one request. again reports whether another one may help.
func (c *collector) send(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header = c.headers.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := c.http.Do(req)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // drain, so that the connection is reused
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, fmt.Errorf("the collector answered %s", resp.Status)
	}
	return false, fmt.Errorf("the collector answered %s", resp.Status)
}
