package respfront

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/row"
)

// tracked are conversations about CLIENT TRACKING that are those of redis-server. $1 is the
// number of the connection itself.
var tracked = [][]string{
	{"CLIENT TRACKING", "CLIENT TRACKING maybe", "CLIENT TRACKING ON nope", "CLIENT TRACKING OFF",
		"CLIENT TRACKING ON", "CLIENT TRACKINGINFO", "CLIENT GETREDIR", "CLIENT TRACKING ON BCAST",
		"CLIENT TRACKING OFF", "CLIENT GETREDIR",
		"CLIENT TRACKINGINFO"},
	{"CLIENT TRACKING ON PREFIX a", "CLIENT TRACKING ON BCAST OPTIN", "CLIENT TRACKING ON OPTIN OPTOUT",
		"CLIENT TRACKING ON REDIRECT x", "CLIENT TRACKING ON REDIRECT 999999", "CLIENT TRACKING ON REDIRECT"},
	{"CLIENT CACHING YES", "CLIENT TRACKING ON OPTIN", "CLIENT CACHING NO", "CLIENT CACHING maybe",
		"CLIENT CACHING YES",
		"CLIENT TRACKINGINFO", "PING", "CLIENT TRACKINGINFO", "CLIENT TRACKING ON OPTOUT", "CLIENT TRACKING OFF"},
	{"CLIENT TRACKING ON OPTOUT NOLOOP", "CLIENT CACHING YES", "CLIENT CACHING NO", "CLIENT TRACKINGINFO", "PING",
		"CLIENT TRACKINGINFO"},
	{"CLIENT TRACKING ON BCAST PREFIX a PREFIX ab", "CLIENT TRACKING ON BCAST PREFIX a PREFIX b", "CLIENT TRACKINGINFO",
		"CLIENT TRACKING ON BCAST PREFIX bc", "CLIENT TRACKING ON BCAST PREFIX c", "CLIENT TRACKINGINFO"},
	{"SUBSCRIBE a", "PING", "PING x", "GET depts:10", "UNSUBSCRIBE a", "GET depts:10", "PSUBSCRIBE a*", "PUNSUBSCRIBE",
		"UNSUBSCRIBE", "PUBSUB NUMPAT", "PUBSUB NUMSUB a", "PUBSUB CHANNELS", "PUBSUB nope"},
}

func TestGolden_TrackingIsThatOfRedis(t *testing.T) {
	redis := dbtest.NewRedis(t)
	r := dialAt(t, "tcp", redis.Addr(), nil)
	r.want("SET depts:10 '"+dept10+"'", "+OK\r\n")
	s := newSite(t)
	for _, v := range []string{"2", "3"} {
		for _, talk := range tracked {
			a, b := dialAt(t, "tcp", redis.Addr(), nil), s.dial()
			for _, c := range []*client{a, b} {
				c.do("HELLO " + v)
			}
			for _, text := range talk {
				if want, got := a.do(text), b.do(text); got != want {
					t.Errorf("version %s: %s = %q, Redis %q", v, text, got, want)
				}
			}
		}
	}
}

// told returns the message that tells of keys in RESP3.
func tells(keys ...string) string {
	text := fmt.Sprintf(">2\r\n$10\r\ninvalidate\r\n*%d\r\n", len(keys))
	for _, k := range keys {
		text += bulk(k)
	}
	return text
}

const flushed = ">2\r\n$10\r\ninvalidate\r\n_\r\n"

// tracking returns a connection that speaks RESP3 and tracks.
func (s *site) tracking(options string) *client {
	s.t.Helper()
	c := s.dial()
	c.do("HELLO 3")
	c.want("CLIENT TRACKING ON "+options, "+OK\r\n")
	return c
}

// tellsNothing fails when something comes that nobody has asked for.
func (c *client) tellsNothing() {
	c.t.Helper()
	<-time.After(20 * time.Millisecond)
	if got := c.do("ECHO silence"); got != bulk("silence") {
		c.t.Errorf("told without being asked: %q", got)
	}
}

// hot reads a key until memory has it, on a connection of its own.
func (s *site) hot(key string) {
	s.t.Helper()
	resource, rest, _ := strings.Cut(key, ":")
	r, _ := s.Set.Lookup(resource)
	c := s.dial()
	eventually(s.t, key+" is in memory", func() bool {
		c.do("GET " + key)
		kept, _ := r.Kept(row.Key(rest))
		return kept
	})
	_ = c.nc.Close()
}

func (s *site) rename(deptno int, loc string) {
	s.t.Helper()
	s.Exec(fmt.Sprintf("UPDATE dept SET loc = '%s' WHERE deptno = %d", loc, deptno))
}

func TestTracking_TellsOfWhatWasRead(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		s.hot("depts:10")
		c := s.tracking("")
		c.want("GET depts:10", bulk(dept10))
		s.rename(20, "ELSEWHERE") // of which nothing was read
		c.tellsNothing()
		s.rename(10, "A")
		if got := c.reply(); got != tells("depts:10") {
			t.Fatalf("after the change: %q", got)
		}
		s.rename(10, "B") // it is not tracked until it is read again
		c.tellsNothing()
		// Also by commands of other sorts, and rows that are not there.
		for i, text := range []string{"MGET depts:30 depts:40", "EXISTS depts:30 depts:40", "TTL depts:30",
			"HGETALL depts:30", "TYPE depts:30", "STRLEN depts:30"} {
			c.do(text)
			s.rename(30, strconv.Itoa(i))
			if got := c.reply(); got != tells("depts:30") {
				t.Errorf("after %s and a change: %q", text, got)
			}
		}
		c.do("GET depts:99")
		s.Exec("INSERT INTO dept VALUES (99, 'NEW', NULL, NULL)")
		if got := c.reply(); got != tells("depts:99") {
			t.Errorf("after the row has come: %q", got)
		}
		c.want("CLIENT TRACKING OFF", "+OK\r\n")
		c.do("GET depts:10")
		s.rename(10, "C")
		c.tellsNothing()
		if st := s.f.Stats().Tracking; st.Clients != 0 || st.Keys != 0 {
			t.Errorf("when nobody tracks: %+v", st)
		}
	})
}

func TestTracking_Modes(t *testing.T) {
	s := newSite(t)
	s.hot("depts:10")
	// A key that is read after every is told of a change is not told of that.
	every := s.tracking("BCAST PREFIX depts:")
	rename := func(deptno int, loc string) {
		s.rename(deptno, loc)
		if got, want := every.reply(), tells(fmt.Sprintf("depts:%d", deptno)); got != want {
			t.Fatalf("BCAST: %q, want %q", got, want)
		}
	}
	// OPTIN: what CACHING YES stands before, a whole transaction too.
	c := s.tracking("OPTIN")
	c.do("GET depts:10")
	rename(10, "A")
	c.tellsNothing()
	c.send("CLIENT CACHING YES", "MULTI", "PTTL depts:10", "GET depts:10", "EXEC", "GET depts:20")
	for range 6 {
		c.reply()
	}
	rename(20, "B")
	c.tellsNothing()
	rename(10, "B")
	if got := c.reply(); got != tells("depts:10") {
		t.Errorf("OPTIN: %q", got)
	}
	// OPTOUT: all but what CACHING NO stands before.
	c = s.tracking("OPTOUT")
	c.send("CLIENT CACHING NO", "GET depts:10", "GET depts:20")
	for range 3 {
		c.reply()
	}
	rename(10, "C")
	c.tellsNothing()
	rename(20, "C")
	if got := c.reply(); got != tells("depts:20") {
		t.Errorf("OPTOUT: %q", got)
	}
	// BCAST: every key that begins with a prefix, read or not, if it may be read.
	s.Allow(map[string]string{"ann": "reader"})
	c = s.tracking("BCAST PREFIX depts: PREFIX pay:")
	s.rename(30, "D")
	if got := c.reply(); got != tells("depts:30") {
		t.Errorf("BCAST: %q", got)
	}
	reader := s.dial()
	reader.want("AUTH secret-ann", "+OK\r\n")
	reader.hears(1, func() { s.Exec("UPDATE pay SET sal = 101") })
	c.tellsNothing()
	c.want("AUTH secret-ann", "+OK\r\n")
	s.Exec("UPDATE pay SET sal = 102")
	if got := c.reply(); got != tells("pay:1") {
		t.Errorf("BCAST, with a token that may read: %q", got)
	}
	// The token is taken away: what it could read is not for this client any more.
	s.Allow(map[string]string{"bob": "reader"})
	if got := c.reply(); got != flushed {
		t.Errorf("after the token was taken away: %q", got)
	}
}

func TestTracking_Redirect(t *testing.T) {
	s := newSite(t)
	s.hot("depts:10")
	to := s.dial()
	id := strings.TrimSpace(strings.TrimPrefix(to.do("CLIENT ID"), ":"))
	to.want("SUBSCRIBE __redis__:invalidate", "*3\r\n"+bulk("subscribe")+bulk("__redis__:invalidate")+":1\r\n")
	for v := 2; v <= 3; v++ {
		c := s.dial()
		c.do(fmt.Sprintf("HELLO %d", v))
		c.want("CLIENT TRACKING ON REDIRECT "+id, "+OK\r\n")
		c.want("CLIENT GETREDIR", ":"+id+"\r\n")
		c.do("GET depts:10")
		s.rename(10, strconv.Itoa(v))
		want := "*3\r\n" + bulk("message") + bulk("__redis__:invalidate") + "*1\r\n" + bulk("depts:10")
		if got := to.reply(); got != want {
			t.Errorf("version %d: %q, want %q", v, got, want)
		}
		c.tellsNothing()
		if v == 3 { // the target goes
			c.do("GET depts:10")
			_ = to.nc.Close()
			eventually(t, "it has gone", func() bool { return s.f.Stats().Open == 1 })
			s.rename(10, "gone")
			if got := c.reply(); got != ">2\r\n"+bulk("tracking-redir-broken")+":"+id+"\r\n" {
				t.Errorf("without the target: %q", got)
			}
			if got := c.do("CLIENT TRACKINGINFO"); !strings.Contains(got, "broken_redirect") {
				t.Errorf("TRACKINGINFO = %q", got)
			}
		} else {
			_ = c.nc.Close()
			eventually(t, "it has gone", func() bool { return s.f.Stats().Open == 1 })
		}
	}
}

// TestTracking_WhatNoFeedFollowsIsNotKept: it is told behind the answer, by the key that was
// sent, and once more.
func TestTracking_WhatNoFeedFollowsIsNotKept(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		for _, k := range []string{"brief:10", "depts:010"} {
			c := s.tracking("")
			for range 2 { // cold and hot
				if got := c.do("GET " + k); !strings.HasPrefix(got, "$") {
					t.Fatalf("GET %s = %q", k, got)
				}
				if a, b := c.reply(), c.reply(); a != tells(k) || b != tells(k) {
					t.Errorf("behind GET %s: %q and %q", k, a, b)
				}
			}
			// Never within an answer, and not within EXEC's either.
			c.send("MULTI", "GET "+k, "GET depts:20", "EXEC")
			c.reply()
			c.reply()
			c.reply()
			if got := c.reply(); !strings.HasPrefix(got, "*2\r\n$") || strings.Contains(got, "invalidate") {
				t.Errorf("EXEC = %q", got)
			}
			if got := c.reply(); got != tells(k) {
				t.Errorf("behind EXEC: %q", got)
			}
			_ = c.nc.Close()
		}
	})
}

// TestTracking_FullTable: a key that has no room any more is told as if it had changed.
func TestTracking_FullTable(t *testing.T) {
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.TrackingKeys = 100 })
	s.Exec(`INSERT INTO codes WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < 1000)
		SELECT i, i FROM c`)
	c := s.tracking("")
	reads, gone := 0, map[string]bool{}
	for i := range 1000 {
		c.send(fmt.Sprintf("GET codes:%d", i+1))
	}
	all := false // the gate has closed: on a busy machine it may
	for reads < 1000 || !all && s.f.Stats().Tracking.Keys+int64(len(gone)) < 1000 {
		got := c.reply()
		if all = all || got == flushed; got == flushed {
			continue
		}
		if strings.HasPrefix(got, ">") {
			for _, k := range strings.Split(got, "\r\n")[5:] {
				if strings.HasPrefix(k, "codes:") {
					gone[k] = true
				}
			}
			continue
		}
		reads++
	}
	if n := s.f.Stats().Tracking.Keys; n > 200 {
		t.Errorf("%d keys in a table for 100", n)
	}
}

// TestTracking_Flushes: each row of the table of what makes every copy doubtful.
func TestTracking_Flushes(t *testing.T) {
	s := newSite(t)
	c := s.tracking("")
	c.do("GET depts:10")
	// A reload by which keys mean something else.
	s.opts.Names = map[string]string{"codes": "code"}
	s.f.Configure(s.opts)
	if got := c.reply(); got != flushed {
		t.Errorf("after a reload: %q", got)
	}
	// A change that no key says, as of a statement that hits the whole table.
	<-time.After(2 * flushGap)
	c.do("GET depts:10")
	s.Exec("DELETE FROM codes", "ALTER TABLE dept ADD COLUMN more TEXT")
	if got := c.reply(); got != flushed {
		t.Errorf("after DDL: %q", got)
	}
	// Two flushes within 50 ms are one, and none is lost.
	for range 10 {
		s.f.store.Tracker().Flush()
	}
	n := 0
	for begin := time.Now(); n == 0 && time.Since(begin) < 10*time.Second ||
		time.Since(begin) < 4*flushGap; {
		got := c.do("ECHO x")
		for ; got != bulk("x"); got = c.reply() {
			n++
		}
		<-time.After(time.Millisecond)
	}
	if n < 1 || n > 3 {
		t.Errorf("10 flushes were told %d times", n)
	}
}

// TestTracking_PeerThatReadsNothing: what waits for it becomes one flush.
func TestTracking_PeerThatReadsNothing(t *testing.T) {
	s := newSite(t)
	c := s.tracking("BCAST")
	_ = c.nc.(*net.TCPConn).SetReadBuffer(4096)
	keys := make([]kv.Name, 64)
	for i := range keys {
		keys[i].Main = "depts:" + strings.Repeat("x", 1000) + strconv.Itoa(i)
	}
	r, _ := s.Set.Lookup("depts")
	for i := 0; s.f.Stats().Owed < 200; i++ {
		s.f.store.Tracker().Changed(r, keys, make([]uint64, len(keys)))
		if i > 100_000 {
			t.Fatal("nothing waits")
		}
	}
	for i := range 200 { // more than may wait
		many := make([]kv.Name, 64)
		for j := range many {
			many[j].Main = fmt.Sprintf("depts:%d-%d", i, j)
		}
		s.f.store.Tracker().Changed(r, many, make([]uint64, len(many)))
	}
	c.send("ECHO done")
	for isDone, isFlushed := false, false; !isDone || !isFlushed; {
		got := c.reply()
		isDone, isFlushed = isDone || got == bulk("done"), isFlushed || got == flushed
	}
}

// A cache is what a client keeps that believes the stream: an answer is kept, what is told
// is dropped.
type cache struct {
	copies map[string]string
	asked  []string // keys of replies that have not come
}

// take takes one reply or message in.
func (k *cache) take(text string) {
	if !strings.HasPrefix(text, ">") {
		key := k.asked[0]
		k.asked = k.asked[1:]
		k.copies[key] = text
		return
	}
	if text == flushed {
		clear(k.copies)
		return
	}
	lines := strings.Split(text, "\r\n")
	for i := 5; i < len(lines); i += 2 {
		delete(k.copies, lines[i])
	}
}

// TestTracking_NoOldCopyAtRest: clients that believe the stream beside writers, with pipelines
// that miss and hit. When the writers have stopped, no copy is of before.
func TestTracking_NoOldCopyAtRest(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		for _, options := range []string{"", "BCAST"} {
			t.Run(options, func(t *testing.T) { believe(t, newSite(t, form), options) })
		}
	})
}

func believe(t *testing.T, s *site, options string) {
	const rows, rounds, writes = 16, 2, 60
	s.Exec(fmt.Sprintf(`INSERT INTO codes WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c
		WHERE i < %d) SELECT i, 0 FROM c`, rows))
	var reads, kept atomic.Int64
	for round := range rounds {
		writing := make(chan struct{})
		var writers, readers sync.WaitGroup
		writers.Go(func() {
			for i := range writes {
				s.Exec(fmt.Sprintf("UPDATE codes SET n = %d WHERE id = %d", round*1000+i, i%rows+1))
			}
		})
		for range 4 {
			c, k := s.tracking(options), &cache{copies: make(map[string]string)}
			readers.Go(func() {
				n := c.read(k, rows, writing)
				reads.Add(n)
				for key, text := range k.copies {
					kept.Add(1)
					if now := s.dialQuiet("GET " + key); now != text {
						t.Errorf("%s is kept as %q, and is %q", key, text, now)
					}
				}
				_ = c.nc.Close()
			})
		}
		writers.Wait()
		close(writing)
		readers.Wait()
	}
	if kept.Load() == 0 {
		t.Error("nothing was kept: the test shows nothing")
	}
	t.Logf("%d reads, %d copies compared at rest", reads.Load(), kept.Load())
}

// read reads what it does not keep, in pipelines, until the writers have stopped and what was
// told has come.
func (c *client) read(k *cache, rows int, writing chan struct{}) (n int64) {
	for rest := 0; rest < 2; {
		select {
		case <-writing:
			rest++
			<-time.After(100 * time.Millisecond)
		default:
		}
		var list []string
		for i := range rows {
			key := fmt.Sprintf("codes:%d", i+1)
			if _, ok := k.copies[key]; !ok {
				list = append(list, "GET "+key)
				k.asked = append(k.asked, key)
			}
		}
		n += int64(len(list))
		c.send(append(list, "ECHO end")...)
		k.asked = append(k.asked, "end")
		for len(k.asked) > 0 {
			k.take(c.reply())
		}
		delete(k.copies, "end")
	}
	return n
}

// dialQuiet asks once on a connection of its own, in RESP3.
func (s *site) dialQuiet(text string) string {
	nc, err := net.Dial("tcp", s.over.Addr().String())
	if err != nil {
		return err.Error()
	}
	defer nc.Close()
	if _, err := nc.Write([]byte(encode("ECHO x") + encode(text))); err != nil {
		return err.Error()
	}
	r := bufio.NewReader(nc)
	_, _ = readReply(r)
	got, err := readReply(r)
	if err != nil {
		return err.Error()
	}
	return got
}
