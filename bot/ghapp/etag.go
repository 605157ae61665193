package ghapp

import (
	"bytes"
	"container/list"
	"io"
	"net/http"
	"sync"
)

const (
	cacheEntries = 128
	cacheBody    = 64 << 10
)

// cachingTransport caches GET responses by ETag and revalidates them with GitHub on
// every use. An unchanged response does not count against the rate limit, and a cached
// one is never used without revalidation. It is above the judge of answers, so it caches
// complete answers only.
type cachingTransport struct {
	next http.RoundTripper

	mu    sync.Mutex
	order *list.List // of *cached, newest first
	byKey map[string]*list.Element
}

type cached struct {
	key, tag string
	status   int
	header   http.Header
	body     []byte
}

func newCachingTransport(next http.RoundTripper) *cachingTransport {
	return &cachingTransport{next: next, order: list.New(), byKey: map[string]*list.Element{}}
}

// RoundTrip implements http.RoundTripper.
func (t *cachingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return t.next.RoundTrip(r)
	}
	key := r.URL.String() + " " + r.Header.Get("Accept")
	old := t.get(key)
	r = r.Clone(r.Context())
	r.Header.Set("Cache-Control", "max-age=0")
	if old != nil {
		r.Header.Set("If-None-Match", old.tag)
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if old != nil && resp.StatusCode == http.StatusNotModified {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, cacheBody)) // drain, so that the connection is reused
		resp.Body.Close()
		h := old.header.Clone()
		for _, name := range []string{"X-Ratelimit-Remaining", "X-Ratelimit-Limit", "X-Ratelimit-Reset"} {
			if v := resp.Header.Get(name); v != "" {
				h.Set(name, v)
			}
		}
		resp.StatusCode, resp.Status, resp.Header = old.status, http.StatusText(old.status), h
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(old.body)), int64(len(old.body))
		return resp, nil
	}
	return t.keep(key, resp)
}

func (t *cachingTransport) get(key string) *cached {
	t.mu.Lock()
	defer t.mu.Unlock()
	el := t.byKey[key]
	if el == nil {
		return nil
	}
	t.order.MoveToFront(el)
	c, _ := el.Value.(*cached)
	return c
}

func (t *cachingTransport) keep(key string, resp *http.Response) (*http.Response, error) {
	tag := resp.Header.Get("ETag")
	if resp.StatusCode != http.StatusOK || tag == "" {
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, cacheBody+1))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if len(body) > cacheBody || len(body) == 0 { //control:nothing-is-not-kept
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	t.mu.Lock()
	defer t.mu.Unlock()
	if el := t.byKey[key]; el != nil {
		t.order.Remove(el)
	}
	t.byKey[key] = t.order.PushFront(&cached{key, tag, resp.StatusCode, resp.Header.Clone(), body})
	for t.order.Len() > cacheEntries {
		el := t.order.Back()
		if c, ok := el.Value.(*cached); ok {
			delete(t.byKey, c.key)
		}
		t.order.Remove(el)
	}
	return resp, nil
}
