package sqlfront

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// secureServer starts a server that speaks TLS, with a user for each way to log in, and returns
// its URL for them.
func secureServer(t *testing.T, cert tlstest.Certificate) (s *dbtest.Server, url string) {
	t.Helper()
	s = dbtest.NewPostgres(t, nil)
	s.Secure(cert.Cert, cert.Key)
	setHBA(t, s, `
host all trusted 127.0.0.1/32 trust
host all scram 127.0.0.1/32 scram-sha-256
host all md5 127.0.0.1/32 md5
host all clear 127.0.0.1/32 password`)
	s.Exec(`CREATE ROLE trusted LOGIN; CREATE ROLE scram LOGIN PASSWORD 'secret';
		CREATE ROLE clear LOGIN PASSWORD 'secret';
		SET password_encryption = 'md5'; CREATE ROLE md5 LOGIN PASSWORD 'secret';`)
	return s, s.URL()
}

// TestLogin_EveryWayOverEveryLeg: what a client that does not bind its log-in to a certificate
// does without the relay, it does through it.
func TestLogin_EveryWayOverEveryLeg(t *testing.T) {
	cert, other := tlstest.New(t, "database"), tlstest.New(t, "hotrow")
	_, url := secureServer(t, cert)
	own := func(c tlstest.Certificate) (*tls.Config, []byte) {
		pair := c.Pair(t)
		return &tls.Config{Certificates: []tls.Certificate{*pair}, NextProtos: []string{ALPN}}, pair.Certificate[0]
	}
	same, sameDER := own(cert)
	differs, differsDER := own(other)
	legs := []struct {
		name     string
		tls      *tls.Config
		shown    []byte
		upstream string // sslmode
		client   string // sslmode
		binds    bool   // binding can work
	}{
		{"plain, plain", nil, nil, "disable", "disable", false},
		{"plain, TLS", nil, nil, "require", "disable", false},
		{"TLS, plain", differs, differsDER, "disable", "require", false},
		{"TLS, TLS", differs, differsDER, "require", "require", false},
		{"TLS, TLS with the database's certificate", same, sameDER, "require", "require", true},
	}
	for _, leg := range legs {
		s := newStand(t, with(t, url, "sslmode", leg.upstream), way{tls: leg.tls, shown: leg.shown})
		for _, user := range []string{"trusted", "scram", "md5", "clear"} {
			for _, password := range []string{"secret", "wrong"} {
				unbound := with(t, with(t, s.url, "sslmode", leg.client), "channel_binding", "disable")
				at := as(t, unbound, user, password)
				want := user
				if password == "wrong" && user != "trusted" {
					want = "28P01"
				}
				if got := whoAmI(t, at); got != want {
					t.Errorf("%s: %s with a %s password is %q, want %q", leg.name, user, password, got, want)
				}
			}
		}
		at := as(t, with(t, with(t, s.url, "sslmode", leg.client), "channel_binding", "require"), "scram", "secret")
		if got := whoAmI(t, at); (got == "scram") != leg.binds {
			t.Errorf("%s: who binds the log-in is %q", leg.name, got)
		}
		at = as(t, with(t, s.url, "sslmode", leg.client), "scram", "secret")
		if got := whoAmI(t, at); got != "scram" && !(got == "28000" && leg.name == "TLS, TLS") {
			t.Errorf("%s: who binds it where that is offered is %q", leg.name, got)
		}
		if leg.tls == nil {
			continue
		}
		if got := whoAmI(t, as(t, with(t, s.url, "sslmode", "disable"), "scram", "secret")); got != "28000" {
			t.Errorf("%s: a client without TLS is %q", leg.name, got)
		}
		direct := with(t, with(t, s.url, "sslmode", "require"), "sslnegotiation", "direct")
		if got := whoAmI(t, as(t, direct, "trusted", "")); got != "trusted" {
			t.Errorf("%s: who begins with TLS is %q", leg.name, got)
		}
	}
}

// whoAmI returns the user of a session, or the SQLSTATE of why there is none, or the error.
func whoAmI(t *testing.T, url string) (user string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(time.Minute))
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		if state := stateOf(err); state != "" {
			return state
		}
		return err.Error()
	}
	defer c.Close(ctx)
	if err := c.QueryRow(ctx, "SELECT current_user").Scan(&user); err != nil {
		return err.Error()
	}
	return user
}

// TestLogin_TrustIsForThisMachine: a database that lets hotrow in unasked lets no client of
// another machine in, unless that is asked for.
func TestLogin_TrustIsForThisMachine(t *testing.T) {
	trusting := dbtest.Postgres(t)
	for _, tt := range []struct {
		listen  string
		trust   bool
		allowed bool
	}{
		{"127.0.0.1:0", false, true},
		{filepath.Join(t.TempDir(), ".s.PGSQL.5432"), false, true},
		{"0.0.0.0:0", false, false}, // whoever asks: others can
		{"0.0.0.0:0", true, true},
		{dbtest.Elsewhere(t) + ":0", false, false},
		{dbtest.Elsewhere(t) + ":0", true, true},
	} {
		s := newStand(t, trusting, way{listen: tt.listen,
			options: func(o *Options) { o.TrustUpstream = tt.trust }})
		got, want := whoAmI(t, s.url), "postgres"
		if !tt.allowed {
			want = "28000"
		}
		if strings.HasPrefix(tt.listen, "/") {
			s.url = with(t, s.url, "port", "5432")
			got = whoAmI(t, s.url)
		}
		if got != want {
			t.Errorf("a client at %s (trust_upstream: %v) is %q, want %q", tt.listen, tt.trust, got, want)
		}
		refused := s.front.Stats().Logins["trusted"]
		if (refused > 0) == tt.allowed {
			t.Errorf("at %s %d are counted as refused for it", tt.listen, refused)
		}
	}
}

// TestLogin_BoundsAreTold: who is one too many, and who finds no database, hears why.
func TestLogin_BoundsAreTold(t *testing.T) {
	server := dbtest.NewPostgres(t, nil)
	s := newStand(t, server.URL(), way{options: func(o *Options) { o.MaxClients = 1 }})
	first := connect(t, s.url)
	if got := whoAmI(t, s.url); got != stateTooMany {
		t.Errorf("the second client hears %q, want %s", got, stateTooMany)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the session has ended", func() bool { return s.front.Stats().Open == 0 })
	server.Stop(dbtest.Fast)
	if got := whoAmI(t, s.url); got != stateAway {
		t.Errorf("without a database a client hears %q, want %s", got, stateAway)
	}
	server.Start()
	if got := whoAmI(t, s.url); got != "postgres" {
		t.Errorf("when it is back, a client is %q", got)
	}
	st := s.front.Stats()
	if st.Logins["too_many"] != 1 || st.Logins["away"] == 0 || st.Logins["open"] != 2 {
		t.Errorf("counted as %v", st.Logins)
	}
}
