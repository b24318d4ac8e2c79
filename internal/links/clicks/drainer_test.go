package clicks

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/waittest"
)

var onEach = map[string]func(*testing.T, string){
	"SumsEqualRows": sumsEqualRows, "SurvivesKill": survivesKill, "Poison": poison,
	"Months": months, "Replay": replay, "Conflict": conflict, "Private": private, "Capped": capped,
	"Visitors": visitors, "Resumes": resumes, "Preview": preview, "HalfMonth": halfMonth,
	"ManyDirectories": manyDirectories, "Taken": taken, "Others": others,
}

func TestSQLite_Drainer(t *testing.T)   { sameOn(t, "sqlite", onEach) }
func TestPostgres_Drainer(t *testing.T) { sameOn(t, "postgres", onEach) }
func TestMariaDB_Drainer(t *testing.T)  { sameOn(t, "mariadb", onEach) }

func sumsEqualRows(t *testing.T, kind string) {
	b := newBed(t, kind, Options{Batch: 700})
	b.start()
	for i := range 5000 {
		r := visit(int64(i%17), i)
		switch i % 11 {
		case 3:
			r.Flags = clicklog.FlagHead
		case 5:
			r.Flags = clicklog.FlagPrefetch
		case 7:
			r.Agent = nil
		}
		if r.Link == 0 {
			r.Path = []byte(fmt.Sprint("missing", i%40))
		}
		b.append(r)
	}
	b.drained()
	b.consistent()
	if n := b.count("SELECT COUNT(*) FROM clicks"); n != 5000 {
		t.Errorf("%d rows of 5000", n)
	}
	if n := b.count("SELECT COUNT(*) FROM click_agents"); n != 5 {
		t.Errorf("%d user agents, want 5", n)
	}
	if st := b.d.Stats(); st.Tail != 0 || st.Drained != 5000 || st.Failures+st.Poison+st.Twice+st.Bad > 0 {
		t.Errorf("%+v\n%s", st, b.logged())
	}
}

// poison: no bytes of a client make a batch fail.
func poison(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	b.start()
	texts := []string{"\xff\xfe", "a\x00b", "\x00", "\xed\xa0\x80", strings.Repeat("\xff", 5000),
		strings.Repeat("ж", 3000), "\U0001F600" + strings.Repeat("x", 1021) + "\U0001F600", "javascript:alert(1)",
		`https://x/"><img src=x onerror=alert(1)>`, "'; DROP TABLE links; --", strings.Repeat("q", 100_000),
		"http://" + strings.Repeat("h", 300) + "/", "\\x00", "\u202e", "%00", "\r\nSet-Cookie: a=b"}
	for i, s := range texts {
		for _, flags := range []clicklog.Flags{0, clicklog.FlagPrivate} {
			b.append(&clicklog.Record{At: time.Now().UnixMilli(), Link: int64(i % 3), Flags: flags,
				Agent: []byte(s), Referrer: []byte(s), Path: []byte(s), IP: [16]byte{15: 1}})
		}
	}
	b.drained()
	b.consistent()
	if n := b.count("SELECT COUNT(*) FROM clicks"); n != int64(2*len(texts)) {
		t.Errorf("%d rows of %d\n%s", n, 2*len(texts), b.logged())
	}
	if st := b.d.Stats(); st.Poison+st.Failures > 0 {
		t.Errorf("%+v\n%s", st, b.logged())
	}
}

// months: the rows of each month have a table, and old months go as a whole.
func months(t *testing.T, kind string) {
	now := time.Date(2026, 12, 20, 12, 0, 0, 0, time.UTC)
	b := newBed(t, kind, Options{Now: func() time.Time { return now }, KeepRaw: 30 * 24 * time.Hour,
		KeepHours: 30 * 24 * time.Hour})
	b.start()
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for i := range 100 {
		r := visit(1, i)
		r.At = midnight.Add(time.Duration(i-50) * time.Hour).UnixMilli()
		b.append(r)
	}
	b.drained()
	b.consistent()
	b.want("SELECT COUNT(*) FROM clicks_202611", "50")
	b.want("SELECT COUNT(*) FROM clicks_202612", "50")
	b.stop()
	now = now.AddDate(0, 1, 5) // 2027-01-25: November is more than 30 days ago
	b.start()
	for start := time.Now(); b.count("SELECT COUNT(*) FROM clicks") != 50; time.Sleep(5 * time.Millisecond) {
		if waittest.Late(time.Since(start), 20*time.Second) {
			t.Fatalf("%d rows are left\n%s", b.count("SELECT COUNT(*) FROM clicks"), b.logged())
		}
	}
	for start := time.Now(); b.count("SELECT (SELECT COUNT(*) FROM click_time WHERE unit = 'h') +"+
		" (SELECT COUNT(*) FROM click_sketches WHERE unit = 'h')") != 0; {
		if waittest.Late(time.Since(start), 20*time.Second) {
			t.Fatal("the sums of hours are not deleted")
		}
		time.Sleep(5 * time.Millisecond)
	}
	b.want("SELECT clicks + bots FROM link_stats WHERE link_id = 1", "100")
	if n := len(b.table("SELECT bucket FROM click_time WHERE link_id = 1 AND unit = 'd'")); n != 6 {
		t.Errorf("%d days are left, want 6", n)
	}
}

// halfMonth: the table of a month that no view shows, as a kill between the two
// statements leaves it in MariaDB, gets its view with the next click.
func halfMonth(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	r := visit(1, 1)
	month := schema.CreateMonth(b.store.Dialect(), schema.Month(time.UnixMilli(r.At)))
	if err := b.store.Exec(t.Context(), month...); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.append(r)
	b.drained()
	b.consistent()
	for _, lost := range []string{"DROP VIEW clicks", "DROP TABLE clicks_" + schema.Month(time.UnixMilli(r.At))} {
		if kind == "postgres" {
			lost += " CASCADE"
		}
		b.stop()
		if err := b.store.Exec(t.Context(), lost); err != nil {
			t.Fatal(lost, err)
		}
		b.start()
		b.append(r)
		b.drained()
		if b.count("SELECT COUNT(*) FROM clicks") == 0 {
			t.Errorf("%s: the view shows nothing\n%s", lost, b.logged())
		}
	}
}

// replay: a cursor that was set back, as by an old backup of one table, counts
// nothing twice.
func replay(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	b.start()
	for i := range 1000 {
		b.append(visit(int64(i%5), i))
	}
	b.drained()
	before := b.table("SELECT link_id, clicks, bots FROM link_stats ORDER BY link_id")
	first := b.table("SELECT min(seq) FROM clicks")[0]
	b.stop()
	if err := b.store.Exec(t.Context(), "UPDATE click_cursor SET seq = "+first+
		" WHERE seq >= "+first); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.append(visit(1, 0))
	b.drained()
	b.consistent()
	if n := b.count("SELECT COUNT(*) FROM clicks"); n != 1001 {
		t.Errorf("%d rows, want 1001", n)
	}
	after := b.table("SELECT link_id, clicks, bots FROM link_stats ORDER BY link_id")
	if len(before) != len(after) || before[0] == after[0] {
		t.Errorf("before %v, after %v", before, after)
	}
	if st := b.d.Stats(); st.Twice != 1000 || st.Conflicts != 0 || st.Tail != 0 {
		t.Errorf("%+v\n%s", st, b.logged())
	}
}

// conflict: another click under a seq of ours is told, stays, and stops nothing.
func conflict(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	b.start()
	b.append(visit(1, 0))
	b.drained()
	if err := b.d.Close(); err != nil {
		t.Fatal(err)
	}
	seq := b.append(visit(1, 0))
	err := b.store.Exec(t.Context(), fmt.Sprintf("INSERT INTO %s (seq, link_id, at, kind) VALUES (%d, 77, 5, 0)",
		schema.MonthTable(schema.Month(time.Now())), uint64(seq)))
	if err != nil {
		t.Fatal(err)
	}
	if b.d, err = Start(t.Context(), b.opts); err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		b.append(visit(1, i+1))
	}
	b.drained()
	if st := b.d.Stats(); st.Conflicts != 1 {
		t.Errorf("%+v\n%s", st, b.logged())
	}
	if !strings.Contains(b.logged(), "a click of another log has this seq") {
		t.Errorf("not told: %s", b.logged())
	}
	b.want("SELECT clicks + bots FROM link_stats WHERE link_id = 1", "10")
}

// private: who sends Sec-GPC or DNT is counted and not told apart.
func private(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	b.start()
	r := visit(1, 1)
	r.Flags, r.Referrer = clicklog.FlagPrivate, []byte("https://mail.example/inbox/7?user=me")
	b.append(r)
	b.append(visit(1, 4))
	b.drained()
	b.consistent()
	b.want("SELECT COUNT(*) FROM clicks WHERE ip IS NULL AND visitor IS NULL", "1")
	b.want("SELECT COUNT(*) FROM clicks WHERE ip IS NOT NULL AND visitor IS NOT NULL", "1")
	b.want("SELECT COUNT(*) FROM click_agents WHERE ua IS NULL AND browser = 'Chrome'", "1")
	b.want("SELECT referrer, host FROM click_refs WHERE host = 'mail.example'",
		"https://mail.example/ mail.example")
	ip := []byte(nil)
	if rows := b.table("SELECT ip FROM clicks WHERE ip IS NOT NULL"); len(rows) == 1 {
		ip = []byte(rows[0])
	}
	if !bytes.Equal(ip, []byte{203, 0, 0, 0}) {
		t.Errorf("kept of the other's address: %v", ip)
	}
}

// capped: however many referrers and missing codes somebody makes up, a day has
// so many rows.
func capped(t *testing.T, kind string) {
	b := newBed(t, kind, Options{Batch: 500})
	b.start()
	for i := range 3000 {
		r := visit(int64(i%2), 0)
		r.Referrer = fmt.Appendf(nil, "https://made-up-%d.example/", i)
		r.Path = fmt.Appendf(nil, "code%d", i)
		b.append(r)
		if i == 1500 {
			b.drained()
			b.stop()
			b.start() // what was known is read again
		}
	}
	b.drained()
	b.consistent()
	for _, link := range []string{"1", "-1"} {
		b.want("SELECT COUNT(*) FROM click_dims WHERE dim = 1 AND link_id = "+link, "201")
		b.want("SELECT clicks FROM click_dims WHERE dim = 1 AND value = '(other)' AND link_id = "+link, "1300")
	}
	b.want("SELECT COUNT(*) FROM click_dims WHERE link_id = 0", "1001")
}

// visitors: the same address and browser is one visitor of a day.
func visitors(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	b.start()
	for range 2 {
		for i := range 800 {
			r := visit(1, i*12) // one browser, no bot
			b.append(r)
		}
		b.drained()
		b.stop()
		b.start()
	}
	r := b.table("SELECT hll FROM click_sketches WHERE link_id = 1 AND unit = 'd' ORDER BY bucket")
	n := uint64(0)
	for _, hll := range r { // two when midnight came between
		n += Visitors([]byte(hll))
	}
	b.want("SELECT sum(visitors) FROM click_time WHERE link_id = 1 AND unit = 'd'", fmt.Sprint(n))
	if n < 740 || n > 860*uint64(len(r)) {
		t.Errorf("about %d visitors, want 800", n)
	}
}

// preview: one link in a post, as X asks for it: a GET by a bot that says so, and
// three HEADs. Nobody has followed it.
func preview(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	b.start()
	for i := range 4 {
		r := visit(1, 0)
		r.Agent = []byte("Twitterbot/1.0")
		if i > 0 {
			r.Flags = clicklog.FlagHead
		}
		b.append(r)
	}
	b.drained()
	b.want("SELECT clicks, bots FROM link_stats WHERE link_id = 1", "0 1")
	for kind, want := range map[Kind]int64{Bot: 1, Head: 3} {
		if n := b.count("SELECT count(*) FROM clicks WHERE kind = ?", int64(kind)); n != want {
			t.Errorf("%d rows of kind %d, want %d", n, kind, want)
		}
	}
}

// resumes: clicks wait in the log while the drainer is held, are shown as the tail,
// and a later process finds them.
func resumes(t *testing.T, kind string) {
	b := newBed(t, kind, Options{})
	b.start()
	b.d.Hold(true)
	for i := range 500 {
		b.append(visit(3, i*4))
	}
	waitFor(t, "the tail has all clicks", func() bool {
		c, _ := b.d.Tail(3)
		return c.Clicks == 500
	})
	b.stop()
	b.start()
	b.drained()
	b.consistent()
	b.want("SELECT clicks FROM link_stats WHERE link_id = 3", "500")
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, ok)
}
