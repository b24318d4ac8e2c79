package postgres

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// A document is stored under the key that a load reads back, and dropped under
// the key that the feed tells. One type written in two ways would be stale for
// ever.
func TestPostgres_FeedsWriteKeysAsLoadsDo(t *testing.T) {
	t.Parallel()
	types := []struct{ typ, value string }{
		{"smallint", "-7"}, {"int", "10"}, {"bigint", "9007199254740993"}, {"oid", "4000000000"},
		{"text", "E'a,b %2C \\u00e9'"}, {"varchar(20)", "'x '"}, {"char(5)", "'ab'"},
		{`"char"`, "'c'"}, {"name", "'n'"}, {"uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"},
		{"date", "'2024-02-29'"}, {"date", "'infinity'"}, {"time", "'03:04:05.25'"},
		{"timetz", "'03:04:05+02'"}, {"timestamp", "'2024-01-02 03:04:05'"},
		{"timestamp", "'-infinity'"}, {"timestamptz", "'2024-01-02 03:04:05.000001+09:30'"},
		{"numeric", "1.500"}, {"numeric(10,3)", "1.5"}, {"numeric", "1e30"}, {"bool", "true"},
		{"real", "0.1"}, {"real", "1e-10"}, {"double precision", "1e21"},
		{"double precision", "0.1"}, {"bytea", `'\xDEAD00'`}, {"inet", "'10.0.0.1'"},
		{"inet", "'10.0.0.0/8'"}, {"inet", "'::1'"}, {"cidr", "'10.0.0.0/8'"},
		{"macaddr", "'08002b:010203'"}, {"interval", "'1 day 2 hours'"}, {"mood", "'so so'"},
		{"small", "5"}, {"day", "'2024-02-29'"}, {"inner_day", "'2024-02-29'"}, {"money", "12.5"},
		{"int4range", "'[1,5]'"}, {"bit(3)", "B'101'"}, {"macaddr8", "'08002b0102030405'"},
		{"address", "'10.0.0.1'"}, {"pg_lsn", "'0/AB'"},
	}
	ddl := `CREATE TYPE mood AS ENUM ('so so'); CREATE DOMAIN small AS smallint;
		CREATE DOMAIN inner_day AS date; CREATE DOMAIN day AS inner_day; CREATE DOMAIN address AS inet;`
	var tables []source.Watched
	for i, c := range types {
		ddl += fmt.Sprintf("CREATE TABLE k%d (k %s PRIMARY KEY, n int);", i, c.typ)
		tables = append(tables, source.Watched{
			Table: fmt.Sprintf("public.k%d", i), Columns: []string{"k"}})
	}
	url := dbtest.Postgres(t)
	f := followOwn(t, url, ddl, tables)
	g := follow(t, url, "SELECT", source.FeedLogical, tables)
	s := openSource(t, url, Options{Log: slog.New(slog.DiscardHandler)})
	for i, c := range types {
		f.exec(fmt.Sprintf("INSERT INTO k%d VALUES (%s)", i, c.value))
		p, err := s.Compile(t.Context(), &source.Spec{Name: "k", Table: tables[i].Table})
		if err != nil {
			t.Errorf("%s: %v", c.typ, err)
			continue
		}
		rows, err := p.List(t.Context(), nil, 10)
		if err != nil || len(rows) != 1 {
			t.Errorf("%s: %d rows, %v", c.typ, len(rows), err)
			continue
		}
		want := []string{fmt.Sprintf("k%d I ->(k=%s)", i, rows[0].Key)}
		if got := f.fence(); !slices.Equal(got, want) {
			t.Errorf("%s: notify tells %q, loads say %q", c.typ, got, want)
		}
		if got := g.fence(); !slices.Equal(got, want) {
			t.Errorf("%s: logical tells %q, loads say %q", c.typ, got, want)
		}
	}
}

func BenchmarkPostgres_CommitToDelivered(b *testing.B) {
	for _, mode := range []source.FeedMode{source.FeedLogical, source.FeedNotify} {
		b.Run("mode="+string(mode), func(b *testing.B) {
			url := dbtest.Postgres(b)
			f := &fixture{t: b, conn: feedConn(b, url)}
			f.exec(feedSchema)
			feedApply(b, url, mode, feedTables)
			f = follow(b, url, "SELECT", mode, feedTables)
			var fromStart, fromAck []time.Duration
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				f.exec(fmt.Sprintf("UPDATE dept SET loc = '%d' WHERE deptno = 10", i))
				ack := time.Now()
				at := f.rec.next(b)
				fromStart = append(fromStart, at.Sub(start))
				fromAck = append(fromAck, max(0, at.Sub(ack)))
			}
			feedReport(b, "start", fromStart)
			feedReport(b, "ack", fromAck)
		})
	}
}

// next waits for a transaction and returns when it came.
func (r *recorder) next(b *testing.B) time.Time {
	for end := time.Now().Add(feedPatience); ; runtime.Gosched() {
		r.mu.Lock()
		if len(r.times) > 0 {
			at := r.times[0]
			r.txs, r.times = nil, nil
			r.mu.Unlock()
			return at
		}
		r.mu.Unlock()
		if time.Now().After(end) {
			b.Fatal("gave up waiting for a transaction")
		}
	}
}

func feedReport(b *testing.B, from string, d []time.Duration) {
	slices.Sort(d)
	b.ReportMetric(float64(d[len(d)/2].Microseconds()), "p50-us-from-"+from)
	b.ReportMetric(float64(d[len(d)*99/100].Microseconds()), "p99-us-from-"+from)
}
