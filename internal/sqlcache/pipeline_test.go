package sqlcache_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestServe_PipelineOfAThousandGroups: of groups of all kinds that are sent ahead a client hears the
// answers that it hears without hotrow, in their order, though memory has answered some.
func TestServe_PipelineOfAThousandGroups(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors+"CREATE TABLE w (n int);")), never, "a")
	sync, execute, portal := &pgproto3.Sync{}, &pgproto3.Execute{}, &pgproto3.Describe{ObjectType: 'P'}
	of := func(sql string) []byte {
		return group(t, &pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, portal, execute, sync)
	}
	query := func(sql string) []byte { return group(t, &pgproto3.Query{String: sql}) }
	hits := [][]byte{of("SELECT score FROM a WHERE id = 3"), query("SELECT * FROM a ORDER BY id"),
		query("SELECT name FROM a WHERE id = 4"), group(t, &pgproto3.Bind{PreparedStatement: "s"}, execute, sync)}
	others := [][]byte{query("SELECT 1"), query("SELECT 1/0"), of("SELECT 1/0"), query("BEGIN"), query("COMMIT"),
		query(""), group(t, sync), query("SELECT nosuch FROM a"), query("SELECT repeat('x', 20000)"),
		query("INSERT INTO w VALUES (1)"), query("SELECT 1; SELECT name FROM a WHERE id = 4")}
	prepare := group(t, &pgproto3.Parse{Name: "s", Query: "SELECT id, name FROM a WHERE id < 9 ORDER BY id"}, sync)
	everyWay(t, s, func(t *testing.T, url string) {
		random := rand.New(rand.NewPCG(1, 2))
		before := s.front.Stats().Hits
		compared := 0
		waittest.Until(t, "memory has answered many", func() bool {
			var script []byte
			for range 1000 {
				if from := hits; random.IntN(20) > 0 {
					script = append(script, from[random.IntN(len(from))]...)
				} else {
					script = append(script, others[random.IntN(len(others))]...)
				}
			}
			cuts := make([]int, 0, 100)
			for range 100 {
				cuts = append(cuts, 1+random.IntN(len(script)/50))
			}
			var heard [2][]byte
			for i, at := range []string{s.database, url} {
				w := newWire(t, at)
				w.says(prepare, 1)
				for range 3 {
					for _, g := range hits {
						w.says(g, 1)
					}
				}
				written := make(chan struct{})
				go func() {
					defer close(written)
					b := script
					for _, n := range cuts {
						if n = min(n, len(b)); n > 0 {
							_, _ = w.Write(b[:n])
						}
						b = b[n:]
					}
					_, _ = w.Write(b)
				}()
				heard[i] = w.says(nil, 1000)
				<-written
				_ = w.Close()
			}
			compared++
			if !bytes.Equal(heard[0], heard[1]) {
				n := 0
				for n < min(len(heard[0]), len(heard[1])) && heard[0][n] == heard[1][n] {
					n++
				}
				t.Errorf("of %d and %d bytes those behind %d differ: %.100q, %.100q", len(heard[0]), len(heard[1]), n,
					heard[0][n:], heard[1][n:])
			}
			return t.Failed() || s.front.Stats().Hits >= before+100
		})
		t.Logf("%d scripts, %d hits", compared, s.front.Stats().Hits-before)
	})
}

// TestServe_SlowReader: who asks for answers of a megabyte and takes none gets no more of them than
// sockets and a limit hold, and others are answered meanwhile.
func TestServe_SlowReader(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors+
		"CREATE TABLE big (id int PRIMARY KEY, v text); INSERT INTO big VALUES (1, repeat('x', 1000000));")),
		never, "a", "big")
	g := group(t, &pgproto3.Query{String: "SELECT v FROM big WHERE id = 1"})
	everyWay(t, s, func(t *testing.T, url string) {
		slow, other := newWire(t, url), connect(t, url, pgx.QueryExecModeExec)
		one := slow.says(g, 1)
		waittest.Until(t, "memory answers", func() bool {
			before := s.front.Stats().Hits
			slow.says(g, 1)
			return s.front.Stats().Hits > before
		})
		const asked = 300
		before := s.front.Stats()
		if _, err := slow.Write(bytes.Repeat(g, asked)); err != nil {
			t.Fatal(err)
		}
		var last atomic.Uint64
		waittest.Until(t, "no more is written", func() bool {
			for range 50 {
				var n int
				if err := other.QueryRow(t.Context(), "SELECT score FROM a WHERE id = 3").Scan(&n); err != nil {
					t.Fatal(err)
				}
			}
			out := s.front.Stats().BytesOut
			return out-last.Swap(out) < 100_000
		})
		if out := s.front.Stats().BytesOut - before.BytesOut; out > 40<<20 {
			t.Errorf("%d MB were made for who takes none", out>>20)
		}
		if all := slow.says(nil, asked); !bytes.Equal(all, bytes.Repeat(one, asked)) {
			t.Error("in the end other bytes have come: " + fmt.Sprint(len(all)))
		}
	})
}
