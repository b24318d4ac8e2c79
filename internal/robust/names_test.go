package robust

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// relayAt is newRelay that listens somewhere of the caller's choice.
func relayAt(t testing.TB, network, listen, to string) *relay {
	t.Helper()
	l, err := net.Listen(network, listen)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{t: t, listener: l, to: to, conns: make(map[net.Conn]struct{})}
	go r.accept()
	t.Cleanup(r.close)
	return r
}

// close lets nobody in any more and ends what there is.
func (r *relay) close() {
	_ = r.listener.Close() // a second time it is closed
	r.hangUp()
}

// renamed: the database's name leads to another address from one moment on, of
// another family at last. The old address does not answer any more.
func renamed(t *testing.T) string {
	o := newOracle(t, 100)
	d := newPostgres(t, o, nil)
	u, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	first := relayAt(t, "tcp", "127.0.0.1:0", server)
	_, port, err := net.SplitHostPort(first.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	// The file of names is hotrow's own: it is put over the system's for it alone.
	hosts := filepath.Join(t.TempDir(), "hosts")
	name := func(address string) {
		text := "127.0.0.1 localhost\n" + address + " database.test\n"
		if err := os.WriteFile(hosts, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	name("127.0.0.1")
	u.Host = net.JoinHostPort("database.test", port)
	u.RawQuery = "sslmode=disable"
	words := []string{"unshare", "--mount", "--propagation", "private", "sh", "-c",
		`mount --bind "$1" /etc/hosts && shift && exec "$@"`, "sh", hosts, binary}
	p := launchBy(t, words, d.config(setup{url: u.String()})).awaitListeners()
	p.awaitReady()
	x := &served{o: o, d: d, relay: first, p: p, w: d.work(o, p, 3)}
	var took []string
	for _, to := range []string{"127.0.0.2", "::1", "127.0.0.3"} {
		next := relayAt(t, "tcp", net.JoinHostPort(to, port), server)
		name(to)
		x.relay.close()
		x.state(t, false)
		opened := x.state(t, true)
		took = append(took, fmt.Sprintf("%s after %v", to, ms(opened)))
		x.relay = next
	}
	return fmt.Sprintf("fresh again by way of %s; %s", strings.Join(took, ", "), x.end(t))
}

// socketReplaced: the database is behind a unix socket that goes and comes back.
func socketReplaced(t *testing.T) string {
	o := newOracle(t, 100)
	d := newPostgres(t, o, nil)
	u, err := url.Parse(d.url)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, ".s.PGSQL.5432")
	through := fmt.Sprintf("postgres://%s@%s?host=%s&port=5432", u.User.Username(), u.Path, dir)
	first := relayAt(t, "unix", socket, u.Host)
	p := serve(t, d.config(setup{url: through}))
	p.awaitReady()
	x := &served{o: o, d: d, relay: first, p: p, w: d.work(o, p, 3)}
	first.close() // which removes the socket
	x.state(t, false)
	x.relay = relayAt(t, "unix", socket, u.Host)
	opened := x.state(t, true)
	return fmt.Sprintf("fresh %v after the socket is back; %s", ms(opened), x.end(t))
}
