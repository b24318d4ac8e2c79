package writeback

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/dbtest"
	sqlfront "github.com/hotrow/hotrow/internal/front/sql"
	"github.com/hotrow/hotrow/internal/source/postgres"
)

// TestPostgres_RelayedBytes: the values of each type come through the listener of SQL in the bytes
// in which the server sends them: as text and in binary, by both protocols.
func TestPostgres_RelayedBytes(t *testing.T) {
	link := dbtest.Postgres(t)
	d := &database{}
	var err error
	if d.db, err = sql.Open("pgx", link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.db.Close() })
	for _, statement := range postgresSchema {
		d.exec(t, statement)
	}
	direct, through := hear(t, link), hear(t, relay(t, link))
	var compared, values int
	for i, c := range postgresTypes(t, d.db) {
		if len(c.values) == 0 {
			continue
		}
		table := valueTable(i)
		d.exec(t, fmt.Sprintf("CREATE TABLE %s (id int, val %s)", table, c.definition()))
		for id, v := range c.rows() {
			d.exec(t, insert(table, id, &v))
			values++
		}
		query := "SELECT val FROM " + table + " ORDER BY id"
		for _, how := range []string{"simple", "text", "binary"} {
			want, got := direct.ask(t, how, query), through.ask(t, how, query)
			if compared += len(want); !bytes.Equal(want, got) {
				t.Errorf("%s, %s: direct\n%q\nthrough the relay\n%q", c.name, how, want, got)
			}
		}
	}
	t.Logf("%d values, %d bytes", values, compared)
	if values < 600 || compared < 1_000_000 {
		t.Errorf("only %d values and %d bytes were compared", values, compared)
	}
}

// relay starts a relay in front of a database, and returns the URL through it.
func relay(t *testing.T, link string) string {
	t.Helper()
	d, err := postgres.NewDialer(link)
	if err != nil {
		t.Fatal(err)
	}
	front := sqlfront.New(sqlfront.Options{Log: slog.New(slog.DiscardHandler),
		Dial: func(ctx context.Context) (sqlfront.Upstream, error) {
			c, err := d.Dial(ctx)
			if err != nil {
				return sqlfront.Upstream{}, err
			}
			return sqlfront.Upstream{Conn: c.Conn}, nil
		}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site, err := front.Serve(l, sqlfront.Listen{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = l.Addr().String()
	return u.String()
}

// A hearing is a session whose bytes from the server are kept.
type hearing struct {
	conn *pgconn.PgConn
	said bytes.Buffer
}

// hear begins a session that ends with the test.
func hear(t *testing.T, link string) *hearing {
	t.Helper()
	h := &hearing{}
	cfg, err := pgconn.ParseConfig(link)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		return kept{nc, &h.said}, err
	}
	if h.conn, err = pgconn.ConnectConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.conn.Close(context.Background()) })
	return h
}

// ask runs a query, and returns what the server has said, an error of its own included.
func (h *hearing) ask(t *testing.T, how, query string) []byte {
	t.Helper()
	h.said.Reset()
	var err error
	switch how {
	case "simple":
		err = h.conn.Exec(t.Context(), query).Close()
	case "text":
		_, err = h.conn.ExecParams(t.Context(), query, nil, nil, nil, nil).Close()
	case "binary":
		_, err = h.conn.ExecParams(t.Context(), query, nil, nil, nil, []int16{1}).Close()
	}
	if h.conn.IsClosed() {
		t.Fatalf("%s: %v", query, err)
	}
	return bytes.Clone(h.said.Bytes())
}

// kept is a connection that keeps what it reads.
type kept struct {
	net.Conn
	said *bytes.Buffer
}

// Read implements net.Conn.
func (k kept) Read(p []byte) (int, error) {
	n, err := k.Conn.Read(p)
	k.said.Write(p[:n])
	return n, err
}
