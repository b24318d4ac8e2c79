package main

import (
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/config"
)

// TestBind_FamilyOfTheAddress: what is bound is the address that the text says, and nothing of
// the other family.
func TestBind_FamilyOfTheAddress(t *testing.T) {
	for text, want := range map[string]string{
		"0.0.0.0:0": "0.0.0.0", "127.0.0.1:0": "127.0.0.1", ":0": "127.0.0.1", "[::1]:0": "::1", "[::]:0": "::",
		"[::ffff:0.0.0.0]:0": "0.0.0.0",
	} {
		at, err := config.ParseListener(text)
		if err != nil {
			t.Fatal(err)
		}
		l, err := bind(t.Context(), at, net.ListenConfig{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := netip.MustParseAddrPort(l.Addr().String()).Addr(); got != netip.MustParseAddr(want) {
			t.Errorf("%s is bound at %s, want %s", text, got, want)
		}
		_ = l.Close()
	}
}

// TestBind_TakesAStaleSocketOver: the file of a process that was killed is no hindrance.
func TestBind_TakesAStaleSocketOver(t *testing.T) {
	at := config.Listener{Network: "unix", Address: filepath.Join(t.TempDir(), "s")}
	for range 2 {
		l, err := bind(t.Context(), at, net.ListenConfig{})
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = l.Close()
	}
}

// TestListeners_BindIPv4Alone: each listener of serve and of the proxy goes by bind.
func TestListeners_BindIPv4Alone(t *testing.T) {
	var env []string
	// That of SQL needs a PostgreSQL.
	names := slices.DeleteFunc(slices.Clone(listenerNames), func(name string) bool { return name == "sql" })
	for _, name := range names {
		env = append(env, "HOTROW_"+strings.ToUpper(name)+"_LISTEN=0.0.0.0:0")
	}
	file := configFile(t, strings.Replace(secureConfig(database(t, deptSQL), "ann"),
		"auth:", "ops: {public_metrics: true}\nlinks: {open: true, base_url: http://s.example}\nauth:", 1))
	r := start(t, env, "-c", file)
	for _, name := range names {
		if !strings.Contains(r.log.String(), "proto="+name+" addr=0.0.0.0:") {
			t.Errorf("%s is not bound at 0.0.0.0:\n%s", name, r.log)
		}
	}
}
