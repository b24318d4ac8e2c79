package httpfront

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/waittest"
)

// Frames of HTTP/2 (RFC 9113) that a client without a library needs.
const (
	h2Data, h2Headers, h2Settings, h2Window = 0, 1, 4, 8
	h2Preface                               = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

func h2Frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// h2Setting is SETTINGS with INITIAL_WINDOW_SIZE.
func h2Setting(window uint32) []byte {
	return h2Frame(h2Settings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, 4}, window))
}

// h2Get is a request in literal header fields.
func h2Get(stream uint32, path string, more ...string) []byte {
	var b []byte
	fields := [][2]string{{":method", "GET"}, {":scheme", "https"},
		{":authority", "localhost"}, {":path", path}}
	for i := 0; i < len(more); i += 2 {
		fields = append(fields, [2]string{more[i], more[i+1]})
	}
	for _, f := range fields {
		b = append(append(b, 0, byte(len(f[0]))), f[0]...)
		b = append(append(b, byte(len(f[1]))), f[1]...)
	}
	return h2Frame(h2Headers, 5, stream, b) // END_HEADERS, END_STREAM
}

// h2Client asks for path on many streams with a window of 0, and counts the bytes of
// data and the streams that end.
type h2Client struct {
	nc          net.Conn
	data, ended atomic.Int64
	keep        func(stream uint32, data []byte) // nil: data is counted alone
}

func (s *site) h2(streams int, path string, more ...string) *h2Client {
	s.t.Helper()
	c := s.h2Of(nil)
	for i := range streams {
		c.send(s.t, h2Get(uint32(2*i+1), path, more...))
	}
	return c
}

// h2Of is h2 of nothing yet.
func (s *site) h2Of(keep func(stream uint32, data []byte)) *h2Client {
	s.t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = nc.Close() })
	if s.trust != nil {
		conf := s.trust.Clone()
		conf.NextProtos, conf.ServerName = []string{"h2"}, "localhost"
		nc = tls.Client(nc, conf)
	}
	c := &h2Client{nc: nc, keep: keep}
	c.send(s.t, append([]byte(h2Preface), h2Setting(0)...))
	go c.read()
	return c
}

func (c *h2Client) send(t *testing.T, frames []byte) {
	t.Helper()
	if _, err := c.nc.Write(frames); err != nil {
		t.Fatal(err)
	}
}

func (c *h2Client) read() {
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(c.nc, head); err != nil {
			return
		}
		n := int64(binary.BigEndian.Uint32(head) >> 8)
		data := make([]byte, n)
		if _, err := io.ReadFull(c.nc, data); err != nil {
			return
		}
		switch head[3] {
		case h2Data:
			c.data.Add(n)
			if c.keep != nil {
				c.keep(binary.BigEndian.Uint32(head[5:]), data)
			}
			fallthrough
		case h2Headers:
			c.ended.Add(int64(head[4] & 1))
		case h2Settings:
			if head[4]&1 == 0 {
				_, _ = c.nc.Write(h2Frame(h2Settings, 1, 0, nil))
			}
		}
	}
}

// readOn opens the windows.
func (c *h2Client) readOn(t *testing.T) {
	t.Helper()
	window := h2Frame(h2Window, 0, 0, []byte{0x7f, 0, 0, 0})
	c.send(t, append(h2Setting(1<<24), window...))
}

// TestUnsent_StreamsWithoutWindow: two connections of HTTP/2 ask for a list of 1.5 MB on
// many streams, whose windows are 0. What is made for them stays within what each of
// them may have; another client is answered; and when they read on, all arrives.
func TestUnsent_StreamsWithoutWindow(t *testing.T) {
	if os.Getenv("HOTROW_TEST_ROAD") != "" {
		t.Skip("it has its own road")
	}
	for _, road := range []string{"h2", "h2c"} {
		t.Run(road, func(t *testing.T) {
			t.Setenv("HOTROW_TEST_ROAD", road)
			streamsWithoutWindow(t)
		})
	}
}

func streamsWithoutWindow(t *testing.T) {
	const reads = 60 // streams of who reads on: 90 MB, through TLS, on a busy machine
	u := front.NewOutputBudget(0, 0)
	u.Wait = time.Minute
	s := newServer(t, func(o *Options) { o.Unsent = u })
	if err := s.src.Exec(t.Context(), `UPDATE dept SET loc = hex(zeroblob(250000))`); err != nil {
		t.Fatal(err)
	}
	var clients []*h2Client
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	for _, streams := range []int{reads, 100} {
		clients = append(clients, s.h2(streams, "/depts?limit=3"))
	}
	eventually(t, "the others wait", func() bool { return u.Stats().Waiting > 100 })
	for range 10 {
		began := time.Now()
		s.want(s.do("GET", "/cities/Tulsa,OK", "", "Cache-Control: no-cache"), 200, "")
		if took := time.Since(began); waittest.Late(took, 20*time.Second) {
			t.Errorf("another client's read took %v", took)
		}
	}
	var more int64 // an answer that is just being made is there twice
	eventually(t, "two clients that read nothing hold 32 MiB at most", func() bool {
		runtime.GC()
		runtime.ReadMemStats(&m)
		more = int64(m.HeapAlloc) - int64(before)
		return more <= 32<<20
	})
	held := u.Stats().Bytes
	t.Logf("%d MiB more alive, %d MiB claimed, %d wait", more>>20, held>>20, u.Stats().Waiting)
	if held > 4*front.UnsentPeer {
		t.Errorf("two clients that read nothing have claimed %d MiB", held>>20)
	}
	clients[0].readOn(t)
	_ = clients[1].nc.Close()
	eventually(t, "everything for who reads on", func() bool {
		return clients[0].ended.Load() == reads && clients[0].data.Load() >= reads*1_500_000
	})
	eventually(t, "nothing is claimed any more", func() bool { return u.Stats() == front.OutputStats{} })
}

// TestUnsent_DocumentsOfSilentStreams: documents that memory has not, asked for on many
// streams by many connections whose windows are 0, stay within the budget, which tells of
// them; small answers go on, and all is given back when the connections end.
func TestUnsent_DocumentsOfSilentStreams(t *testing.T) {
	for _, road := range []string{"h2", "h2c"} {
		t.Run(road, func(t *testing.T) {
			t.Setenv("HOTROW_TEST_ROAD", road)
			const all = 16 << 20
			u := front.NewOutputBudget(2<<20, all)
			s := newServer(t, func(o *Options) { o.Unsent = u })
			err := s.src.Exec(t.Context(), `UPDATE dept SET loc = hex(zeroblob(200000))`)
			if err != nil {
				t.Fatal(err)
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			before := m.HeapAlloc
			var clients []*h2Client
			for range 10 { // 400 MB
				c := s.h2(100, "/depts/10", "cache-control", "no-cache")
				clients = append(clients, c)
			}
			eventually(t, "others wait", func() bool { return u.Stats().Waiting > 100 })
			eventually(t, "what was made is counted", func() bool {
				return u.Stats().Bytes > all/4
			})
			s.want(s.do("GET", "/cities/Tulsa,OK", "", "Cache-Control: no-cache"), 200, "")
			eventually(t, "silent clients hold little", func() bool {
				runtime.GC()
				runtime.ReadMemStats(&m)
				return int64(m.HeapAlloc)-int64(before) <= 3*all
			})
			if held := u.Stats().Bytes; held > 2*all {
				t.Errorf("%d MiB are counted, of at most %d", held>>20, all>>20)
			}
			for _, c := range clients {
				_ = c.nc.Close()
			}
			eventually(t, "nothing is kept for who has left", func() bool {
				return u.Stats().Bytes == 0 && u.Stats().Waiting == 0
			})
		})
	}
}
