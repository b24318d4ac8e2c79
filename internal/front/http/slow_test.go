package httpfront

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/waittest"
)

// What slow readers read: rows slowFirst and on, of 60 KB. Memory has room for 16 of such rows, so
// that others push them out.
const (
	slowRows, slowFirst = 8, 101
	slowOthers          = 1001
	slowBytes           = 60_000
	slowTimes           = 12 // that each row is asked for: more than the kernel takes
)

// A slowSite is a site whose memory can be asked what it has evicted.
type slowSite struct {
	*site
	memory *tier.Memory
}

// newSlowSite starts a site over a road whose rows are all in one state, and in memory.
func newSlowSite(t *testing.T, road string) *slowSite {
	t.Helper()
	t.Setenv("HOTROW_TEST_ROAD", road)
	unsent := front.NewOutputBudget(0, 0)
	unsent.Wait = time.Minute
	memory := tier.NewMemory(1 << 20)
	set, src := openSetIn(t, memory)
	s := &slowSite{newServerOf(t, set, src, func(o *Options) { o.Unsent = unsent }), memory}
	for _, first := range []int{slowFirst, slowOthers} {
		if err := s.src.Exec(t.Context(), fmt.Sprintf(`INSERT INTO dept WITH RECURSIVE i(n) AS (SELECT 0
			UNION ALL SELECT n + 1 FROM i WHERE n < 19) SELECT %d + n, 'D' || (%d + n),
			replace(hex(zeroblob(%d)), '0', 'a') FROM i`, first, first, slowBytes/2)); err != nil {
			t.Fatal(err)
		}
	}
	for n := range slowRows {
		s.do("GET", slowPath(n), "")
	}
	return s
}

func slowPath(n int) string { return fmt.Sprint("/depts/", slowFirst+n%slowRows) }

// disturb brings the rows into another state, and has memory evict them.
func (s *slowSite) disturb(state int) {
	s.t.Helper()
	before := s.memory.Stats().Evictions
	if err := s.src.Exec(s.t.Context(), fmt.Sprintf(`UPDATE dept SET loc =
		replace(hex(zeroblob(%d)), '0', '%c') WHERE deptno >= %d`, slowBytes/2, 'b'+state%20,
		slowFirst)); err != nil {
		s.t.Fatal(err)
	}
	for n := range 20 {
		s.do("GET", slowPath(n), "")
		s.do("GET", fmt.Sprint("/depts/", slowOthers+n), "")
	}
	if s.memory.Stats().Evictions == before {
		s.t.Error("nothing was evicted")
	}
}

// oneState says whether a body is the nth row's, in one state, and which.
func oneState(t *testing.T, n int, body string) (state string) {
	t.Helper()
	key := slowFirst + n%slowRows
	head := fmt.Sprintf(`{"deptNumber":%d,"dname":"D%d","loc":"`, key, key)
	loc, ok := strings.CutPrefix(strings.TrimSuffix(body, `"}`), head)
	if !ok || len(loc) != slowBytes || strings.Count(loc, loc[:1]) != slowBytes {
		t.Fatalf("answer %d, %d bytes, is of several states: %.100q ... %q", n, len(body), body,
			body[max(0, len(body)-40):])
	}
	return loc[:1]
}

// TestSlow_EveryByteIsOfOneState: who reads slowly what was asked for, while rows change and are
// evicted, gets each row in one state, byte for byte. So does who asks for parts: bytes of a row are
// no range that hotrow sends, and the row comes whole (RFC 9110 14.2).
func TestSlow_EveryByteIsOfOneState(t *testing.T) {
	if os.Getenv("HOTROW_TEST_ROAD") != "" {
		t.Skip("it has its own road")
	}
	for _, road := range []string{"loop", "goroutine", "tls"} {
		t.Run("a byte at a time/"+road, func(t *testing.T) { slowBytesOf(t, newSlowSite(t, road)) })
	}
	for _, road := range []string{"h2", "h2c"} {
		t.Run("without a window/"+road, func(t *testing.T) { slowStreams(t, newSlowSite(t, road)) })
	}
}

// slowBytesOf asks for 6 MB at once, and reads a byte between two changes: over TLS, the record that
// it is of is written in half.
func slowBytesOf(t *testing.T, s *slowSite) {
	conn := s.dial()
	socket, ok := conn.(*net.TCPConn)
	if !ok {
		socket = conn.(*tls.Conn).NetConn().(*net.TCPConn)
	}
	// With less than a packet of the loopback, the kernel sends one for each probe of the window: 6 MB
	// take 44 s then, from net/http, too.
	if err := socket.SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for n := range slowRows * slowTimes {
		fmt.Fprintf(&out, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", slowPath(n),
			[]string{"", "", "Range: bytes=10000-19999\r\n"}[n%3])
	}
	if _, err := out.WriteTo(conn); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(waittest.Deadline(time.Minute)); err != nil {
		t.Fatal(err)
	}
	begin := make([]byte, 12)
	for i := range begin {
		if _, err := conn.Read(begin[i : i+1]); err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			s.disturb(i / 4)
		}
	}
	in, states := bufio.NewReader(io.MultiReader(bytes.NewReader(begin), conn)), make(map[string]bool)
	for n := range slowRows * slowTimes {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", n, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("answer %d: %s, %v: %.200s", n, resp.Status, err, body)
		}
		states[oneState(t, n, string(body))] = true
	}
	if len(states) < 2 {
		t.Error("all was answered before the rows changed: the reader was not slow")
	}
}

// slowStreams asks for rows on streams whose windows are 0, and opens them in parts between
// changes.
func slowStreams(t *testing.T, s *slowSite) {
	var mu sync.Mutex
	bodies := make(map[uint32][]byte)
	c := s.h2Of(func(stream uint32, data []byte) {
		mu.Lock()
		defer mu.Unlock()
		bodies[stream] = append(bodies[stream], data...)
	})
	const streams = 5 * slowRows
	for n := range streams {
		c.send(t, h2Get(uint32(2*n+1), slowPath(n)))
	}
	window := func(stream, more uint32) {
		c.send(t, h2Frame(h2Window, 0, stream, binary.BigEndian.AppendUint32(nil, more)))
	}
	window(0, 1<<30)
	have := func(each int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			for n := range streams {
				if len(bodies[uint32(2*n+1)]) < each {
					return false
				}
			}
			return true
		}
	}
	open := 0
	for i, more := range []int{1, 999, 20_000, 2 * slowBytes} {
		s.disturb(i)
		for n := range streams {
			window(uint32(2*n+1), uint32(more))
		}
		open += more
		eventually(t, fmt.Sprint("each stream has sent ", open), have(min(open, slowBytes)))
	}
	eventually(t, "all streams end", func() bool { return c.ended.Load() == streams })
	mu.Lock()
	defer mu.Unlock()
	for n := range streams {
		oneState(t, n, string(bodies[uint32(2*n+1)]))
	}
}
