package fallback

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
)

// request makes what is sent. sent says, from then on, that the server may have got some of it.
func (s *Server) request(ctx context.Context, r *Request, sent *atomic.Bool) *http.Request {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	req := &http.Request{Method: r.Method, Host: s.host, Header: r.Header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		URL: &url.URL{Scheme: s.o.URL.Scheme, Host: s.host, RawQuery: r.Query,
			RawPath: s.base + r.Path}}
	// Path is what RawPath, which is sent as it is, stands for.
	req.URL.Path, _ = url.PathUnescape(req.URL.RawPath)
	if len(r.Body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(r.Body)), int64(len(r.Body))
		req.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(r.Body)), nil
		}
	}
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	req.Header.Set("User-Agent", "hotrow")
	return req.WithContext(ctx)
}
