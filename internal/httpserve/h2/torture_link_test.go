package h2_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The ways in which a connection ends.
const (
	endQuietly = iota // all answers have come
	endBad            // a wrong frame, and more requests behind it
	endHalf           // no more will come, and all answers have room
	endCut            // within a frame
	endReset          // whatever is under way
	endsAltogether
)

const (
	linkStreams = 60 // that wait for answers; with those that were reset, fewer than a server allows
	linkResets  = 30
)

// A link is a connection of the client.
type link struct {
	x    *torture
	rnd  *rand.Rand // of who writes the script
	raw  net.Conn
	conn net.Conn // under TLS, or raw
	id   int64

	seats chan struct{} // one for each stream that waits
	dead  chan struct{} // closed when nothing more is read
	wake  chan struct{} // there is output

	mu      sync.Mutex // guards the rest
	out     bytes.Buffer
	fr      *http2.Framer // into out
	block   bytes.Buffer
	enc     *hpack.Encoder
	streams map[uint32]*asked
	next    uint32
	window  int64 // of the connection
	initial int64 // of a stream
	pings   [][8]byte
	over    bool // nothing more is sent
	goAway  http2.ErrCode
}

// An asked is a stream with the answer that it must get.
type asked struct {
	id           uint32
	status, mark string
	body         string // the answer's
	rest         string // of the request's body, to be sent
	trailers     bool
	head, done   bool
	trail        bool // the body's length is known before its end
	reset, left  bool
	at           int // so much of body has come
	window       int64
}

// connection opens a connection, says all that it has to say, and compares all that comes back.
func (x *torture) connection(rnd *rand.Rand) error {
	raw, err := net.Dial("tcp", x.addr)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	_ = raw.SetDeadline(time.Now().Add(timeLimit))
	l := &link{
		x: x, rnd: rnd, raw: raw, id: x.conns.Add(1), streams: map[uint32]*asked{}, next: 1, goAway: noCode,
		seats: make(chan struct{}, linkStreams), dead: make(chan struct{}), wake: make(chan struct{}, 1),
		window: 65535,
	}
	l.conn = &cutter{Conn: raw, rnd: rand.New(rand.NewPCG(rnd.Uint64(), 1)), on: rnd.IntN(2) == 0}
	if x.trust != nil {
		cfg := x.trust.Clone()
		cfg.DynamicRecordSizingDisabled = rnd.IntN(2) == 0
		c := tls.Client(l.conn, cfg)
		if err := c.Handshake(); err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
		l.conn = c
	}
	l.fr = http2.NewFramer(&l.out, nil)
	l.fr.AllowIllegalWrites = true
	l.enc = hpack.NewEncoder(&l.block)
	end := endQuietly
	if rnd.IntN(2) == 0 {
		end = rnd.IntN(endsAltogether)
	}
	read, sent := make(chan error, 1), make(chan struct{})
	reads, seed := rnd.Uint64(), rnd.Uint64() // rnd is of this goroutine alone
	go func() {
		read <- l.read(rand.New(rand.NewPCG(reads, 2)))
		close(l.dead)
	}()
	go func() {
		defer close(sent)
		l.send(rand.New(rand.NewPCG(seed, 3)))
	}()
	l.script(end)
	err = l.finish(end, read, sent)
	if err != nil {
		return fmt.Errorf("connection %d, end %d: %w", l.id, end, err)
	}
	return nil
}

// A cutter cuts what is written into segments.
type cutter struct {
	net.Conn
	rnd *rand.Rand
	on  bool
}

func (c *cutter) Write(b []byte) (n int, err error) {
	for c.on && len(b)-n > 1 && c.rnd.IntN(3) == 0 {
		m, err := c.Conn.Write(b[n : n+1+c.rnd.IntN(len(b)-n-1)])
		if n += m; err != nil {
			return n, err
		}
	}
	m, err := c.Conn.Write(b[n:])
	return n + m, err
}

// put has f append frames, which stay together.
func (l *link) put(f func()) {
	l.mu.Lock()
	if !l.over {
		f()
	}
	l.mu.Unlock()
	l.poke()
}

func (l *link) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// send sends what was put, in pieces that end anywhere.
func (l *link) send(rnd *rand.Rand) {
	most := []int{1, 9, 40, 300, 5_000, 1 << 20}[rnd.IntN(6)]
	sent := 0
	for {
		l.mu.Lock()
		b := bytes.Clone(l.out.Bytes())
		l.out.Reset()
		over := l.over
		l.mu.Unlock()
		if len(b) == 0 && over {
			return
		}
		for len(b) > 0 {
			if sent > 3_000 {
				most = max(most, 40)
			}
			n := min(len(b), 1+rnd.IntN(most))
			if _, err := l.conn.Write(b[:n]); err != nil {
				return
			}
			b = b[n:]
			sent += n
		}
		if !over {
			select {
			case <-l.wake:
			case <-l.dead:
				return
			}
		}
		if rnd.IntN(3) == 0 {
			pass(rnd, 500)
		}
	}
}

// script is what the client has to say.
func (l *link) script(end int) {
	l.initial = []int64{0, 1, 50, 1_000, 65_535, 1 << 20}[l.rnd.IntN(6)]
	if end == endHalf {
		l.initial = 1 << 22
	}
	l.put(func() {
		l.out.WriteString(http2.ClientPreface)
		_ = l.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(l.initial)})
		if end == endHalf {
			l.grant(0, 1<<30)
		}
	})
	resets := 0
	for n := 1 + l.rnd.IntN(1+l.rnd.IntN(150)); n > 0; n-- {
		switch k := l.rnd.IntN(40); {
		case k < 2 && resets < linkResets && end != endHalf:
			resets++
			l.put(l.resetOne)
		case k < 3:
			l.put(l.ping)
		case k < 4:
			l.put(func() { _ = l.fr.WritePriority(l.next+2, http2.PriorityParam{StreamDep: 1}) })
		case k < 5:
			l.put(func() { _ = l.fr.WriteRawFrame(0x42, 0xff, l.next, []byte("of another time")) })
		case k < 6:
			l.put(l.widen)
		case k < 10:
			l.bodies(1)
		}
		if !l.ask() {
			return
		}
		if l.rnd.IntN(20) == 0 {
			pass(l.rnd, 2_000)
		}
	}
	if end != endCut && end != endReset {
		l.bodies(1 << 20)
	}
}

// ask begins a stream. It reports false when nothing is read any more.
func (l *link) ask() bool {
	for {
		select {
		case l.seats <- struct{}{}:
			l.put(l.begin)
			return true
		case <-l.dead:
			return false
		default:
		}
		if l.bodies(1 << 20); len(l.seats) < linkStreams {
			continue
		}
		select { // a stream to be answered that has come as a whole
		case l.seats <- struct{}{}:
			<-l.seats
		case <-l.dead:
			return false
		}
	}
}

// begin puts the head of a request.
func (l *link) begin() {
	s := &asked{id: l.next, status: "200", window: l.initial}
	l.next += 2
	l.streams[s.id] = s
	l.x.streams.Add(1)
	id := fmt.Sprintf("%d-%d-%d", l.id, s.id, l.rnd.Uint32())
	kinds := []string{"hit", "hit", "hit", "miss", "again", "full", "put", "take", "take", "nowhere"}
	method, kind := "GET", kinds[l.rnd.IntN(len(kinds))]
	name := id
	posts := kind == "put" || kind == "take"
	if l.rnd.IntN(8) == 0 && !posts && kind != "nowhere" {
		name = fmt.Sprintf("%d:%s", l.rnd.IntN(60_000), id)
	}
	path := "/" + kind + "/" + name
	s.mark, s.body = id+" "+path, bodyOf(path)
	switch {
	case posts:
		method, s.rest, s.trailers = "POST", strings.Repeat(id, l.rnd.IntN(150)), l.rnd.IntN(4) == 0
		s.body = path + " " + sumOf([]byte(s.rest))
		s.left = true
	case kind == "nowhere":
		s.status, s.body = "404", path
	case l.rnd.IntN(10) == 0:
		method, s.body = "HEAD", ""
	}
	fields := [][2]string{{":method", method}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path},
		{"x-request-id", id}, {"user-agent", strings.Repeat("f", l.rnd.IntN(100))}}
	if posts && l.rnd.IntN(2) == 0 {
		s.trail = true
		fields = append(fields, [2]string{"content-length", fmt.Sprint(len(s.rest))})
	}
	l.heads(s.id, !posts, fields)
}

// heads puts a header block, in one frame or several.
func (l *link) heads(id uint32, end bool, fields [][2]string) {
	l.block.Reset()
	if l.rnd.IntN(20) == 0 {
		l.enc.SetMaxDynamicTableSize(uint32(l.rnd.IntN(4096)))
	}
	for _, f := range fields {
		_ = l.enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: l.rnd.IntN(10) == 0})
	}
	b := l.block.Bytes()
	cuts := 0
	if l.rnd.IntN(3) == 0 {
		cuts = 1 + l.rnd.IntN(1+l.rnd.IntN(40))
	}
	part := func(more bool) []byte {
		n := len(b)
		if more {
			n = l.rnd.IntN(min(len(b), 20) + 1)
		}
		p := b[:n]
		b = b[n:]
		return p
	}
	p := http2.HeadersFrameParam{StreamID: id, EndStream: end, EndHeaders: cuts == 0, BlockFragment: part(cuts > 0)}
	if l.rnd.IntN(5) == 0 {
		p.PadLength = uint8(l.rnd.IntN(256))
	}
	if l.rnd.IntN(5) == 0 {
		p.Priority = http2.PriorityParam{StreamDep: id + 2, Weight: 3}
	}
	_ = l.fr.WriteHeaders(p)
	for ; cuts > 0; cuts-- {
		_ = l.fr.WriteContinuation(id, cuts == 1, part(cuts > 1))
	}
}

// bodies puts parts of the bodies of some streams, in turn.
func (l *link) bodies(most int) {
	for more := true; more && most > 0; most-- {
		more = false
		l.put(func() {
			for _, s := range l.streams { // in any order
				if s.left && !s.reset {
					l.body(s)
					more = true
				}
			}
		})
	}
}

// body puts a part of a body.
func (l *link) body(s *asked) {
	n := min(len(s.rest), l.rnd.IntN(2_000))
	b := []byte(s.rest[:n])
	s.rest = s.rest[n:]
	end := s.rest == "" && !s.trailers
	if l.rnd.IntN(4) == 0 {
		_ = l.fr.WriteDataPadded(s.id, end, b, make([]byte, l.rnd.IntN(100)))
	} else {
		_ = l.fr.WriteData(s.id, end, b)
	}
	if s.rest == "" {
		s.left = false
		if s.trailers {
			l.heads(s.id, true, [][2]string{{"x-trailer", s.mark}})
		}
	}
}

// resetOne ends a stream whose answer has not come as a whole.
func (l *link) resetOne() {
	for id, s := range l.streams {
		if !s.done && !s.reset {
			s.reset = true
			l.x.resets.Add(1)
			_ = l.fr.WriteRSTStream(id, http2.ErrCodeCancel)
			<-l.seats
			return
		}
	}
}

func (l *link) ping() {
	var b [8]byte
	copy(b[:], fmt.Sprint(l.rnd.Uint32()))
	l.pings = append(l.pings, b)
	_ = l.fr.WritePing(false, b)
}

// widen has the windows of all streams grow.
func (l *link) widen() {
	more := int64(l.rnd.IntN(3_000))
	l.initial += more
	for _, s := range l.streams {
		s.window += more
	}
	_ = l.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(l.initial)})
}

// grant opens a window.
func (l *link) grant(id uint32, n int64) {
	if id == 0 {
		l.window += n
	} else {
		l.streams[id].window += n
	}
	_ = l.fr.WriteWindowUpdate(id, uint32(n))
}

// isTimeout reports whether nothing has come in time.
func isTimeout(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}
