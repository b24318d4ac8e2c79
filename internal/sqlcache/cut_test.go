package sqlcache_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hotrow/hotrow/internal/dbtest"
	sqlfront "github.com/hotrow/hotrow/internal/front/sql"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// everyWay runs a test with each way in which clients reach a stand.
func everyWay(t *testing.T, s *stand, test func(t *testing.T, url string)) {
	t.Helper()
	pair := tlstest.New(t, "hotrow").Pair(t)
	secure := &tls.Config{Certificates: []tls.Certificate{*pair}, NextProtos: []string{sqlfront.ALPN}}
	leaf := func() []byte { return pair.Certificate[0] }
	for _, way := range []struct {
		name string
		how  sqlfront.Listen
	}{
		{"loops", sqlfront.Listen{}},
		{"goroutines", sqlfront.Listen{Goroutines: true}},
		{"loops and TLS", sqlfront.Listen{TLS: secure, Certificate: leaf}},
		{"goroutines and TLS", sqlfront.Listen{Goroutines: true, TLS: secure, Certificate: leaf}},
	} {
		t.Run(way.name, func(t *testing.T) {
			at := s.listen(way.how)
			if way.how.TLS != nil {
				at = strings.Replace(at, "sslmode=disable", "sslmode=require", 1)
			}
			test(t, at)
		})
	}
}

// halfClose ends the client's side, and returns what comes until the server ends its own.
func (w *wire) halfClose() []byte {
	w.t.Helper()
	if err := w.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		w.t.Fatal(err)
	}
	all, err := io.ReadAll(w)
	if err != nil {
		w.t.Errorf("after %d bytes: %v", len(all), err)
	}
	return all
}

// TestServe_CutAnywhere: a client that ends its side within a group hears what it hears without
// hotrow, wherever the cut is: of a group that memory answers, of one that is held back for it in
// vain, and of one whose answer begins before its Sync.
func TestServe_CutAnywhere(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors+
		"CREATE TABLE large AS SELECT i AS id, repeat('x', 100) AS v FROM generate_series(1, 1000) i;"+
		"ALTER TABLE large ADD PRIMARY KEY (id);")), never, "a", "large")
	execute, sync, portal := &pgproto3.Execute{}, &pgproto3.Sync{}, &pgproto3.Describe{ObjectType: 'P'}
	of := func(sql string) []byte {
		return group(t, &pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, portal, execute, sync)
	}
	groups := map[string][]byte{
		"from memory":   of("SELECT score FROM a WHERE id = 3"),
		"simple":        group(t, &pgproto3.Query{String: "SELECT score FROM a WHERE id = 3"}),
		"in vain":       of("SELECT nosuch FROM a WHERE id = 3"),
		"a large one":   of("SELECT * FROM large ORDER BY id"),
		"unknown table": of("SELECT id FROM nosuch"),
	}
	everyWay(t, s, func(t *testing.T, url string) {
		warm := newWire(t, url)
		waittest.Until(t, "memory answers", func() bool {
			before := s.front.Stats().Hits
			warm.says(groups["from memory"], 1)
			warm.says(groups["simple"], 1)
			warm.says(groups["a large one"], 1)
			return s.front.Stats().Hits == before+3
		})
		before := s.front.Stats().Hits
		for name, g := range groups {
			step := 1
			if !waittest.Long() {
				step = 9
			}
			for n := len(g); n >= 0; n -= step {
				var heard [2][]byte
				for i, at := range []string{s.database, url} {
					w := newWire(t, at)
					if i == 1 && n == len(g) { // its state has been read
						w.says(groups["simple"], 1)
						w.says(groups["simple"], 1)
					}
					if _, err := w.Write(g[:n]); err != nil {
						t.Fatal(err)
					}
					heard[i] = w.halfClose()
					_ = w.Close()
				}
				if !bytes.Equal(heard[0], heard[1]) {
					t.Errorf("%s, cut at %d of %d: direct %d bytes %.200q, through hotrow %d bytes %.200q", name, n,
						len(g), len(heard[0]), heard[0], len(heard[1]), heard[1])
					break
				}
			}
		}
		if s.front.Stats().Hits == before {
			t.Error("memory has answered none")
		}
	})
}
