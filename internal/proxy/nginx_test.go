package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// startNginx starts nginx as a proxy to an upstream and returns its address.
func startNginx(t *testing.T, upstream string) string {
	t.Helper()
	return dbtest.Nginx(t, func(addr string) string {
		return "server { listen " + addr + "; location / { proxy_pass http://" + upstream +
			"; proxy_http_version 1.1; } }"
	})
}

// Whatever nginx refuses we refuse, and what both accept is the same request to
// the upstream: ours may only be the stricter reader.
func TestNginx_ReadsNoRequestDifferently(t *testing.T) {
	up := echo(t)
	theirs := startNginx(t, up.addr)
	_, ours := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	list := append([]string{}, smuggled...)
	for _, chunks := range append(badChunks, "3\r\nabc\r\n0\r\n\r\n", "3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\n",
		"0\r\n\r\n") {
		list = append(list, "POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks)
	}
	list = append(list,
		"GET /a?b HTTP/1.1\r\nHost: up\r\n\r\n", "GET http://up/a HTTP/1.1\r\nHost: up\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 3\r\n\r\nabc", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: up\r\nContent-Length: 0\r\n\r\n", "DELETE /x HTTP/1.1\r\nHost: up\r\n\r\n",
		"GET / HTTP/1.2\r\nHost: up\r\n\r\n", "GET /\x01 HTTP/1.1\r\nHost: up\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: up\r\nX-\x80: a\r\n\r\n", "G\x01T / HTTP/1.1\r\nHost: up\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: up\r\n: a\r\n\r\n",
	)
	for _, request := range list {
		b, patient := exchangeWith(t, theirs, request, time.Second), patience
		if b == "closed" { // nginx waits for what it takes for unfinished
			patient = time.Second
		}
		a := exchangeWith(t, ours, request, patient)
		if strings.HasPrefix(b, "4") && !strings.HasPrefix(a, "4") {
			t.Errorf("%q: nginx says %q, we say %q", request, b, a)
		}
		if strings.HasPrefix(a, "200") && a != b && strings.HasPrefix(b, "200") {
			t.Errorf("%q: nginx relays %q, we relay %q", request, b, a)
		}
	}
}

// exchangeWith sends a request and returns the status and the body.
func exchangeWith(t *testing.T, addr, request string, limit time.Duration) string {
	t.Helper()
	c := call(t, addr)
	_ = c.nc.SetDeadline(time.Now().Add(limit))
	c.send(request)
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		return "closed"
	}
	b := new(strings.Builder)
	if err := resp.Write(b); err != nil {
		return "cut"
	}
	_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	return fmt.Sprint(resp.StatusCode, " ", body)
}
