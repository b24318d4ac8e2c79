package front

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestFromHere(t *testing.T) {
	loop := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	lan := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 80}
	unix := &net.UnixAddr{Name: "/run/x", Net: "unix"}
	tests := []struct {
		name       string
		own        net.Addr
		peer, host string
		header     string
		want       bool
	}{
		{"plain", loop, "127.0.0.1:5", "127.0.0.1:80", "", true},
		{"name", loop, "127.0.0.1:5", "LocalHost.:80", "", true},
		{"v6", &net.TCPAddr{IP: net.IPv6loopback}, "[::1]:5", "[::1]:80", "", true},
		{"mapped", loop, "[::ffff:127.0.0.1]:5", "127.0.0.1", "", true},
		{"unix", unix, "@", "localhost", "", true},
		{"unix behind a proxy", unix, "@", "localhost", "X-Forwarded-For", false},
		{"nothing known", nil, "127.0.0.1:5", "localhost", "", false},
		{"no peer", loop, "", "localhost", "", false},
		{"peer of a container's bridge", loop, "172.17.0.1:5", "localhost", "", false},
		{"listener of the LAN", lan, "127.0.0.1:5", "localhost", "", false},
		{"Host of the LAN", loop, "127.0.0.1:5", "192.0.2.7", "", false},
		{"foreign Host", loop, "127.0.0.1:5", "localhost.evil.example", "", false},
		{"no Host", loop, "127.0.0.1:5", "", "", false},
		{"other header", loop, "127.0.0.1:5", "localhost", "X-Request-Id", true},
		{"Forwarded", loop, "127.0.0.1:5", "localhost", "Forwarded", false},
		{"Cloudflare", loop, "127.0.0.1:5", "localhost", "CF-Connecting-IP", false},
		{"any of a family", loop, "127.0.0.1:5", "localhost", "X-Forwarded-Anything", false},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if tt.own != nil {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, tt.own))
		}
		r.RemoteAddr, r.Host = tt.peer, tt.host
		if tt.header != "" {
			r.Header.Set(tt.header, "127.0.0.1")
		}
		if got := FromHere(r); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
