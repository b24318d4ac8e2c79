package respfront

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/waittest"
)

// manyNotes makes n rows of notes whose bodies have 60,000 bytes.
func manyNotes(n int) string {
	return `WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < ` +
		strconv.Itoa(n) + `) INSERT INTO note (id, body) SELECT n, printf('%060000d', n) FROM i`
}

// mget returns MGET of the notes from one to another.
func mget(from, to int) string {
	var b strings.Builder
	b.WriteString("MGET")
	for i := from; i <= to; i++ {
		b.WriteString(" notes:" + strconv.Itoa(i))
	}
	return b.String()
}

// noteBytes is how long the reply to MGET of so many notes is.
func noteBytes(n int) int64 {
	head := len("*\r\n") + len(strconv.Itoa(n))
	return int64(head + n*(60_000+len("$60000\r\n\r\n")))
}

// TestUnread_RoomComesBackAsOutputIsTaken: misses behind an answer that is not wholly taken
// yet wait for the peer and not for themselves, and who has read all holds no room.
func TestUnread_RoomComesBackAsOutputIsTaken(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		unsent := front.NewOutputBudget(256<<10, 0)
		unsent.Wait = 5 * time.Second
		s := newSite(t, form, func(o *Options, _ *kv.Listen) { o.Unsent = unsent })
		s.Exec(manyNotes(240))
		c := s.dial()
		if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		c.send(mget(1, 120))
		if _, err := c.r.Peek(1); err != nil { // it has been answered
			t.Fatal(err)
		}
		c.send(mget(121, 240))
		_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
		if n, err := io.CopyN(io.Discard, c.r, 2*noteBytes(120)); err != nil {
			t.Fatalf("%v, behind %d bytes of %d", err, n, 2*noteBytes(120))
		}
		eventually(t, "who has read all holds no room", func() bool {
			return unsent.Stats() == front.OutputStats{}
		})
	})
}

// TestUnread_WhatIsNotTakenIsCounted: an answer holds its room until the peer takes it, also
// when the next command has come with it.
func TestUnread_WhatIsNotTakenIsCounted(t *testing.T) {
	unsent := front.NewOutputBudget(256<<10, 0)
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.Unsent = unsent })
	s.Exec(manyNotes(121))
	c := s.dial()
	if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	c.raw(encode(mget(1, 120)) + encode("SET notes:500 x") + encode(mget(121, 121)))
	if _, err := c.r.Peek(1); err != nil {
		t.Fatal(err)
	}
	if got := unsent.Stats().Bytes; got < 1<<20 {
		t.Errorf("%d bytes are counted of an answer of %d that nobody reads", got, noteBytes(120))
	}
}

// TestUnread_LongAnswersComeInPieces: an answer however long is made as its peer takes it,
// so that it costs neither memory nor others' time.
func TestUnread_LongAnswersComeInPieces(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		unsent := front.NewOutputBudget(0, 0)
		s := newSite(t, form, func(o *Options, _ *kv.Listen) { o.Unsent = unsent })
		s.Exec(manyNotes(1))
		mget := "MGET" + strings.Repeat(" notes:1", 5000) // 300 MB
		hmget := "HMGET notes:1" + strings.Repeat(" body", 5000)
		other := s.dial()
		for _, text := range []string{mget, hmget, "EXEC", mget} {
			c := s.dial()
			if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
				t.Fatal(err)
			}
			want := noteBytes(5000)
			if text == "EXEC" {
				c.raw(encode("MULTI") + encode(mget) + encode("GET notes:2") + encode("PING") +
					encode(hmget) + encode("EXEC") + encode("ECHO behind"))
				c.skip("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n")
				want = 2*want + int64(len("$-1\r\n+PONG\r\n"))
			} else {
				c.raw(encode(text) + encode("ECHO behind"))
			}
			if _, err := c.r.Peek(1); err != nil {
				t.Fatal(err)
			}
			other.want("PING", "+PONG\r\n")
			if got := unsent.Stats().Bytes; got > 4<<20 {
				t.Errorf("%.20q: %d bytes wait for one peer", text, got)
			}
			_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
			if n, err := io.CopyN(io.Discard, c.r, want); err != nil {
				t.Fatalf("%.20q: %v, behind %d bytes of %d", text, err, n, want)
			}
			c.skip("$6\r\nbehind\r\n")
		}
		eventually(t, "nothing waits", func() bool { return unsent.Stats().Bytes == 0 })
	})
}

// skip reads what the server must say next.
func (c *client) skip(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.r, got); err != nil || string(got) != want {
		c.t.Fatalf("%q, %v, want %q", got, err, want)
	}
}

// TestUnread_PushesComeBehindLongAnswers: a client that keeps copies hears of a change
// behind the answer that is being made.
func TestUnread_PushesComeBehindLongAnswers(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		s.execTold(2*4, manyNotes(2)) // which are keys of four resources
		c := s.dial()
		c.do("HELLO 3")
		c.want("CLIENT TRACKING ON", "+OK\r\n")
		if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		c.raw(encode("MGET notes:2" + strings.Repeat(" notes:1", 2000)))
		if _, err := c.r.Peek(1); err != nil {
			t.Fatal(err)
		}
		s.Exec(`UPDATE note SET body = 'x' WHERE id = 2`)
		tracker := s.f.store.Tracker()
		eventually(t, "the change is told", func() bool { return tracker.Stats().Invalidations > 0 })
		_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
		if n, err := io.CopyN(io.Discard, c.r, noteBytes(2001)); err != nil {
			t.Fatalf("%v, behind %d bytes", err, n)
		}
		c.skip(">2\r\n$10\r\ninvalidate\r\n") // of the key, or of all if the feed had to begin anew
	})
}

// TestUnread_WhatIsReadForAnAnswerIsBounded: one answer does not take the memory of all.
func TestUnread_WhatIsReadForAnAnswerIsBounded(t *testing.T) {
	unsent := front.NewOutputBudget(0, 0)
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.Unsent = unsent })
	s.Exec(manyNotes(1300)) // 78 MB
	c := s.dial()
	if got := c.do(mget(1, 1300)); !strings.HasPrefix(got, "-ERR the rows together are too large") {
		t.Errorf("%.100q", got)
	}
	c.want("PING", "+PONG\r\n")
	eventually(t, "nothing waits", func() bool { return unsent.Stats().Bytes == 0 })
}

// TestMulti_BytesAreBounded: what transactions keep has a bound, for one and for all.
func TestMulti_BytesAreBounded(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	c.want("MULTI", "+OK\r\n")
	large := encode("ECHO " + strings.Repeat("x", 1<<20-100))
	refused := 0
	for range front.QueuedBytes>>20 + 2 {
		c.raw(large)
		if line, err := c.r.ReadString('\n'); err != nil {
			t.Fatal(err)
		} else if strings.HasPrefix(line, "-ERR") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("nothing is refused")
	}
	if got := s.f.queued.Load(); got > front.QueuedBytes {
		t.Errorf("%d bytes are kept", got)
	}
	_ = c.nc.Close()
	eventually(t, "nothing is kept for who has left", func() bool { return s.f.queued.Load() == 0 })
}

// TestUnread_RowsThatChangeAreOfOneState: a client asks for rows of 1.2 MB together, again and
// again, and stops reading. Meanwhile the rows change, and memory evicts them. What comes when it
// reads on is of one state of each row, byte for byte.
func TestUnread_RowsThatChangeAreOfOneState(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		const rows, times = 20, 10
		unsent := front.NewOutputBudget(0, 0)
		unsent.Wait = time.Minute
		s := newSite(t, form, func(o *Options, _ *kv.Listen) { o.Unsent = unsent })
		s.Exec(manyNotes(rows), `UPDATE note SET body = replace(hex(zeroblob(30000)), '0', 'a')`)
		other := s.dial()
		other.send(mget(1, rows))
		_ = other.nc.SetReadDeadline(waittest.Deadline(time.Minute))
		if _, err := io.CopyN(io.Discard, other.r, noteBytes(rows)); err != nil {
			t.Fatal(err)
		}
		c := s.dial()
		if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		c.raw(strings.Repeat(encode(mget(1, rows)), times))
		if _, err := c.r.Peek(1); err != nil {
			t.Fatal(err)
		}
		s.Exec(`INSERT INTO note (id, body) WITH RECURSIVE i(n) AS (SELECT 1001 UNION ALL SELECT n + 1 FROM i
			WHERE n < 1200) SELECT n, printf('%060000d', n) FROM i`)
		evictions := s.Memory.Stats().Evictions
		for i := range 3 {
			s.Exec(`UPDATE note SET body = replace(hex(zeroblob(30000)), '0', '` + string(rune('b'+i)) + `')
				WHERE id <= ` + strconv.Itoa(rows))
			for n := 1001; n <= 1200; n++ {
				other.do("GET notes:" + strconv.Itoa(n))
			}
		}
		if n := s.Memory.Stats().Evictions; n == evictions {
			t.Error("nothing was evicted")
		}
		_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
		got := make([]byte, noteBytes(rows))
		for range times {
			if _, err := io.ReadFull(c.r, got); err != nil {
				t.Fatal(err)
			}
			for n, bulk := range strings.Split(string(got), "$60000\r\n")[1:] {
				if body := strings.TrimSuffix(bulk, "\r\n"); strings.Count(body, body[:1]) != 60_000 {
					t.Fatalf("row %d is of several states: %.100q", 1+n, body)
				}
			}
		}
	})
}
