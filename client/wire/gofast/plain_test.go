package gofast

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// sameAsNext compares what plain makes of the input with what the general
// decoder makes of it.
func sameAsNext(d *Decoder, in []byte) error {
	var fast, slow Frame
	n := d.plain(in, &fast)
	if n == 0 {
		return nil
	}
	m, err := d.next(in, &slow)
	if m != n || err != nil || fast.Kind != slow.Kind || fast.Opaque != slow.Opaque ||
		fast.ID != slow.ID || !bytes.Equal(fast.Data, slow.Data) ||
		cap(fast.Data) != len(fast.Data) || slow.Deadline != 0 || slow.Meta != nil ||
		slow.Flags != 0 {
		return fmt.Errorf("%x is read as %d %+v, and in general as %d %+v, %v", in[:min(n, 64)],
			n, fast, m, slow, err)
	}
	return nil
}

// TestPlain_ReadsWhatNextReads, of frames of all sizes, whole and cut, and of
// frames with any one byte of the heads changed.
func TestPlain_ReadsWhatNextReads(t *testing.T) {
	d := NewDecoder(Limits{Packet: 1 << 16}, nil)
	data := bytes.Repeat([]byte("a"), 70_000)
	plain := 0
	for _, size := range []int{0, 1, 8, 9, 10, 11, 23, 24, 64, 230, 240, 255, 256, 520, 65_000,
		65_510, 65_520, 65_536} {
		for _, opaque := range []uint64{1, 266, 65_535, 65_536, 1 << 31, 1 << 40} {
			for _, id := range []uint64{1, 23, 24, 111, 255, 256, IDError, 1 << 20} {
				f := frame(KindMessage, opaque, id, data[:size])
				in := append(AppendFrame(nil, &f), "another frame"...)
				if d.plain(in, new(Frame)) > 0 {
					plain++
				}
				for i := range min(len(in), 48) {
					for _, change := range []byte{0, 1, 2, 0x20, 0xff} {
						in[i] ^= change
						if err := sameAsNext(d, in); err != nil {
							t.Fatal(err)
						}
						in[i] ^= change
					}
				}
				for cut := range min(len(in), 80) {
					if err := sameAsNext(d, in[:len(in)-cut]); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	// The fast path that is never taken would pass, too.
	if plain < 150 {
		t.Errorf("only %d frames are read by the fast path", plain)
	}
}

// TestPlain_ReadsFramesAlike reads a frame again and again, each time with
// something changed, as the general decoder does.
func TestPlain_ReadsFramesAlike(t *testing.T) {
	data := bytes.Repeat([]byte("a"), 70_000)
	repeats := 0
	for _, kind := range []Kind{KindPost, KindMessage, KindRequest} {
		for _, size := range []int{0, 9, 23, 24, 230, 240, 255, 256, 65_000} {
			for _, opaque := range []uint64{266, 65_535, 65_536, 1 << 31} {
				for _, id := range []uint64{23, 24, 255} {
					f := frame(kind, opaque, id, data[:size])
					in := append(AppendFrame(nil, &f), "another frame"...)
					for i := range min(len(in), 48) {
						d := NewDecoder(Limits{Packet: 1 << 16}, nil)
						n := d.plain(in, &f)
						if err := sameAsNext(d, in); err != nil {
							t.Fatal(err)
						}
						if d.last.end > 0 {
							repeats++
						}
						in[i] ^= 1 // in the heading, the data, at the end or behind it
						if err := sameAsNext(d, in); err != nil {
							t.Fatal(err)
						}
						in[i] ^= 1
						for _, cut := range []int{1, 13, 14} {
							if err := sameAsNext(d, in[:len(in)-cut]); err != nil {
								t.Fatal(err)
							}
						}
						if n == 0 && d.last.end > 0 {
							t.Fatalf("%x is remembered, and was not read", in[:32])
						}
					}
				}
			}
		}
	}
	if repeats < 1000 {
		t.Errorf("only %d frames are remembered", repeats)
	}
}

// TestPlain_KeepsTheLimits that the general decoder keeps.
func TestPlain_KeepsTheLimits(t *testing.T) {
	f := frame(KindPost, 266, 111, make([]byte, 100))
	in := AppendFrame(nil, &f)
	d := NewDecoder(Limits{Packet: PacketSize(&f) - 1}, nil)
	if n, err := d.Next(in, &f); n != 0 || err != ErrFrameSize {
		t.Errorf("a packet that is too long: %d, %v", n, err)
	}
	d = NewDecoder(Limits{Packet: PacketSize(&f)}, nil)
	if n := d.plain(in, &f); n != len(in) {
		t.Errorf("one that is just short enough: %d", n)
	}
}

// TestHeading_WritesWhatAppendFrameWrites, whatever the message before was.
func TestHeading_WritesWhatAppendFrameWrites(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := NewSession(Config{})
	s.peerBuffer, s.peerMessage = 1<<16, 1<<16
	pick := func(of ...uint64) uint64 { return of[rnd.IntN(len(of))] }
	data := bytes.Repeat([]byte("abc"), 1<<15)
	var buffer []byte
	for range 20_000 {
		kind := []Kind{KindPost, KindRequest, KindStart, KindMessage}[rnd.IntN(4)]
		opaque := pick(1, 100, 266, 267, 65_535, 65_536, 14_680_064, 1<<32-1, 1<<32, 1<<60)
		m := Message{ID: pick(1, 2, 23, 24, 111, 256, 1<<16, 1<<40)}
		m.Data = data[:pick(0, 1, 23, 24, 64, 255, 256, 520, 65_000, 65_490, 65_500, 65_600)]
		if rnd.IntN(4) == 0 {
			m.Prefix = data[:pick(1, 20)]
		}
		if rnd.IntN(4) == 0 {
			buffer = make([]byte, rnd.IntN(50), 50+rnd.IntN(1000))
		}
		before := len(buffer)
		f := Frame{Kind: kind, Opaque: opaque, Message: m}
		out, ok := s.plain(buffer, kind, opaque, &m)
		fits := PacketSize(&f) <= s.peerBuffer && m.size() <= s.peerMessage
		if ok != fits {
			t.Fatalf("%v of %d bytes to %d: sent %v, want %v", kind, m.size(), opaque, ok, fits)
		}
		if want := AppendFrame(nil, &f); ok && !bytes.Equal(out[before:], want) {
			t.Fatalf("%v of %d bytes to %d:\n%x want\n%x", kind, m.size(), opaque,
				out[before:before+40], want[:40])
		}
		if buffer = out; len(buffer) > 1<<20 {
			buffer = buffer[:0]
		}
	}
	if s.stats.Tx == 0 || s.stats.TxByte < s.stats.Tx*16 {
		t.Errorf("the counters say %+v", s.stats)
	}
}

// TestSink_ConsumesWithoutEvents what the peer streams, as long as it likes, and
// tells of the end.
func TestSink_ConsumesWithoutEvents(t *testing.T) {
	p := ready(t, Config{}, Config{Credit: 1 << 12, NoPosts: true})
	m := Message{ID: 113, Data: make([]byte, 1000)}
	c := p.client
	var opaque uint64
	var err error
	if c.out, opaque, err = c.s.AppendStart(c.out, &m, nil); err != nil {
		t.Fatal(err)
	}
	p.server.on = func(e *Event) {
		if e.Type == EventStart {
			if err := p.server.s.Sink(e.Opaque); err != nil {
				t.Error(err)
			}
		}
	}
	p.run()
	waits := 0
	for sent := 0; sent < 20_000; {
		c.out, err = c.s.AppendMessage(c.out, opaque, &m)
		switch err {
		case nil:
			sent++
			continue
		case ErrNoCredit:
			waits++
		default:
			t.Fatal(err)
		}
		p.run()
	}
	if c.out, err = c.s.AppendPost(c.out, &m); err != nil {
		t.Fatal(err)
	}
	if c.out, err = c.s.AppendFinish(c.out, opaque); err != nil {
		t.Fatal(err)
	}
	p.run()
	// 20 MB at a window of 4 KiB would be thousands of waits.
	if waits == 0 || waits > 5 {
		t.Errorf("the sender has waited %d times for credit", waits)
	}
	s := p.server.s.Stats()
	if s.RxStream != 20_000 || s.RxPost == 0 || s.RxFin != 1 {
		t.Errorf("the counters say %+v", s)
	}
	for _, entry := range p.server.log {
		if entry[:4] == "mess" || entry[:4] == "post" {
			t.Fatalf("an event tells of what is dropped: %q", entry)
		}
	}
	if err := p.server.s.Sink(999); err != ErrNoExchange {
		t.Errorf("a stream that is none: %v", err)
	}
}
