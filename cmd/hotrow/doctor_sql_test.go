package main

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/tlstest"
)

// TestDoctor_SQL: the doctor says what pg_hba.conf must have for the clients of sql.listen, and
// what their drivers need.
func TestDoctor_SQL(t *testing.T) {
	const table = "CREATE TABLE t (a int PRIMARY KEY)"
	plain := dbtest.Postgres(t, dbtest.Setup(table))
	if _, out, _ := command(t, "doctor", plain); strings.Contains(out, "pg_hba") {
		t.Errorf("nobody asked for SQL, and the doctor says\n%s", out)
	}
	t.Setenv("HOTROW_SQL_LISTEN", "127.0.0.1:0")
	_, out, errs := command(t, "doctor", plain)
	if !strings.Contains(out, "  host all all 127.0.0.1/32 scram-sha-256") ||
		strings.Contains(out, "channel_binding") {
		t.Errorf("the doctor says\n%s%s", out, errs)
	}

	dir := t.TempDir()
	own, theirs := tlstest.New(t, "127.0.0.1"), tlstest.New(t, "127.0.0.1")
	cert, key := own.Write(t, dir)
	t.Setenv("HOTROW_SQL_TLS", "true")
	t.Setenv("HOTROW_HTTP_TLS_CERT", cert)
	t.Setenv("HOTROW_HTTP_TLS_KEY", key)
	s := dbtest.NewPostgres(t, nil)
	s.Secure(theirs.Cert, theirs.Key)
	s.Exec(table)
	url := strings.Replace(s.URL(), "sslmode=disable", "sslmode=require", 1)
	_, out, errs = command(t, "doctor", url)
	if !strings.Contains(out, "  hostssl all all 127.0.0.1/32 scram-sha-256") ||
		!strings.Contains(out, "channelBinding=disable") {
		t.Errorf("the doctor says\n%s%s", out, errs)
	}
}
