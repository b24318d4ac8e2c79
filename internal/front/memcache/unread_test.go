package memcachefront

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

// getNotes returns get of the notes from one to another.
func getNotes(from, to int) string {
	var b strings.Builder
	b.WriteString("get")
	for i := from; i <= to; i++ {
		b.WriteString(" notes:" + strconv.Itoa(i))
	}
	return b.String() + "\r\n"
}

// TestUnread_RoomComesBackAsOutputIsTaken: misses behind an answer that is not wholly taken
// yet wait for the peer and not for themselves, and who has read all holds no room.
func TestUnread_RoomComesBackAsOutputIsTaken(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		unsent := front.NewOutputBudget(256<<10, 0)
		unsent.Wait = 5 * time.Second
		s := newSite(t, form, func(o *Options, _ *kv.Listen) { o.Unsent = unsent })
		s.Exec(`WITH RECURSIVE i(n) AS (SELECT 101 UNION ALL SELECT n + 1 FROM i WHERE n < 340)
			INSERT INTO note (id, body) SELECT n, printf('%060000d', n) FROM i`)
		c := s.dial()
		if err := c.nc.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		c.raw(getNotes(101, 220))
		if _, err := c.r.Peek(1); err != nil { // it has been answered
			t.Fatal(err)
		}
		c.raw(getNotes(221, 340))
		_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
		size := int64(240*(60_000+len("VALUE notes:101 0 60000\r\n\r\n")) + 2*len("END\r\n"))
		if n, err := io.CopyN(io.Discard, c.r, size); err != nil {
			t.Fatalf("%v, behind %d bytes of %d", err, n, size)
		}
		eventually(t, "who has read all holds no room", func() bool {
			return unsent.Stats() == front.OutputStats{}
		})
	})
}
