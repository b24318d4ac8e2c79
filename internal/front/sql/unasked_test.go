package sqlfront

import (
	"net"
	"net/url"
	"os/user"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/tlstest"
)

// TestLogin_PeerAndCertAreForThisMachine: who hotrow is, by its user or its certificate, is not
// who the client is.
func TestLogin_PeerAndCertAreForThisMachine(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	cert, own := tlstest.New(t, "database"), tlstest.New(t, "certified")
	server, at := secureServer(t, cert)
	data := strings.TrimSpace(server.Exec("SHOW data_directory;"))
	server.Exec("COPY (SELECT 1) TO '" + data + "/root.crt';")
	file, key := own.Write(t, t.TempDir())
	overwrite(t, data+"/root.crt", own.Cert)
	server.Exec("ALTER SYSTEM SET ssl_ca_file = 'root.crt'; CREATE ROLE certified LOGIN; CREATE ROLE \"" +
		me.Username + "\" LOGIN;")
	setHBA(t, server, "local all "+me.Username+" peer\nhostssl all certified 127.0.0.1/32 cert")
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	socket := url.URL{Scheme: "postgres", User: u.User, Path: u.Path, RawQuery: url.Values{"port": {u.Port()},
		"host": {strings.TrimSpace(server.Exec("SHOW unix_socket_directories;"))}}.Encode()}
	certified := with(t, with(t, with(t, at, "sslmode", "require"), "sslcert", file), "sslkey", key)
	for role, upstream := range map[string]string{me.Username: socket.String(), "certified": certified} {
		for listen, want := range map[string]string{"127.0.0.1:0": role, dbtest.Elsewhere(t) + ":0": "28000"} {
			s := newStand(t, upstream, way{listen: listen})
			client := url.URL{Scheme: "postgres", User: url.User(role), Path: u.Path, RawQuery: "sslmode=disable",
				Host: s.site.addr.(*net.TCPAddr).String()}
			if got := whoAmI(t, client.String()); got != want {
				t.Errorf("%s at %s is %q, want %q", role, listen, got, want)
			}
		}
	}
}
