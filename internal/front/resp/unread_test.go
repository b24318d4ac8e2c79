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
)

// manyNotes makes n rows of notes whose bodies have 60,000 bytes.
func (s *site) manyNotes(n int) {
	s.Exec(`WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < ` +
		strconv.Itoa(n) + `) INSERT INTO note (id, body) SELECT n, printf('%060000d', n) FROM i`)
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
		unsent := front.NewUnsent(256<<10, 0)
		unsent.Wait = 5 * time.Second
		s := newSite(t, form, func(o *Options, _ *kv.Listen) { o.Unsent = unsent })
		s.manyNotes(240)
		c := s.dial()
		if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		c.send(mget(1, 120))
		if _, err := c.r.Peek(1); err != nil { // it has been answered
			t.Fatal(err)
		}
		c.send(mget(121, 240))
		_ = c.nc.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := io.CopyN(io.Discard, c.r, 2*noteBytes(120)); err != nil {
			t.Fatalf("%v, behind %d bytes of %d", err, n, 2*noteBytes(120))
		}
		eventually(t, "who has read all holds no room", func() bool {
			return unsent.Stats() == front.UnsentStats{}
		})
	})
}

// TestUnread_WhatIsNotTakenIsCounted: an answer holds its room until the peer takes it, also
// when the next command has come with it.
func TestUnread_WhatIsNotTakenIsCounted(t *testing.T) {
	unsent := front.NewUnsent(256<<10, 0)
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.Unsent = unsent })
	s.manyNotes(121)
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
