package httprule

import (
	"net"
	"testing"
)

func TestHostName(t *testing.T) {
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"localhost", "localhost", true}, {"LOCALHOST:8080", "localhost", true},
		{"localhost.", "localhost", true}, {"127.0.0.1:80", "127.0.0.1", true},
		{"[::1]", "::1", true}, {"[::1]:8080", "::1", true}, {"[0:0::1]:1", "::1", true},
		{"::1", "::1", true}, {"db_1.example", "db_1.example", true},
		{"", "", false}, {":80", "", false}, {"a:b", "", false}, {"a:1:2", "", false},
		{"[::1", "", false}, {"[::1]x", "", false}, {"[localhost]", "", false},
		{"a@b", "", false}, {"a/b", "", false}, {"a,b", "", false}, {"a b", "", false},
		{"a:123456", "", false}, {"é.example", "", false},
	}
	for _, tt := range tests {
		got, ok := hostName(tt.in)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("hostName(%q) = %q, %v; want %q, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestHostList(t *testing.T) {
	lan := &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 8080}
	six := &net.TCPAddr{IP: net.ParseIP("fe80::7"), Zone: "eth0", Port: 8080}
	tests := []struct {
		host  string
		own   net.Addr
		hosts []string
		want  bool
	}{
		{"localhost:8080", nil, nil, true},
		{"127.0.0.1", nil, nil, true},
		{"[::1]:9", nil, nil, true},
		{"192.0.2.7:8080", lan, nil, true},
		{"192.0.2.7", lan, nil, true}, // the port does not count
		{"192.0.2.8", lan, nil, false},
		{"[fe80::7]", six, nil, true},
		{"192.0.2.7", nil, nil, false},
		{"evil.example", lan, nil, false},
		{"localhost.evil.example", lan, nil, false},
		{"api.example", lan, []string{"API.example:443"}, true},
		{"api.example:8443", nil, []string{"api.example"}, true},
		{"evil.example", nil, []string{"*"}, true},
		{"", lan, nil, false},
		{"localhost", &net.UnixAddr{Name: "/run/x", Net: "unix"}, nil, true},
		{"elsewhere", &net.UnixAddr{Name: "/run/x", Net: "unix"}, nil, false},
	}
	for _, tt := range tests {
		if got := NewHosts(tt.hosts).Allow(tt.host, tt.own); got != tt.want {
			t.Errorf("Host %q at %v with hosts %q: %v, want %v",
				tt.host, tt.own, tt.hosts, got, tt.want)
		}
	}
}
