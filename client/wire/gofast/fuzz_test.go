package gofast

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// addVectors gives a fuzz target all frames of the tests as seeds.
func addVectors(f *testing.F, add func(b []byte)) {
	for _, v := range append(slices.Clone(vectors), compressed...) {
		add(unhex(f, v.hex))
	}
	for _, v := range negatives {
		add(unhex(f, v.hex))
	}
}

// FuzzDecode: whatever comes, the decoder terminates within bounds; a frame that
// it accepts is encoded as one that it reads the same.
func FuzzDecode(f *testing.F) {
	addVectors(f, func(b []byte) {
		f.Add(b, uint8(7))
		f.Add(bytes.Repeat(b, 3), uint8(7)) // heads that are known already
	})
	codecs := NewCodecs()
	f.Fuzz(func(t *testing.T, in []byte, tags uint8) {
		limits := Limits{Packet: 1 << 12, Inflated: 1 << 13, Tags: Tags(tags & 7)}
		d := NewDecoder(limits, codecs)
		for rest := in; ; {
			var frame Frame
			if err := sameAsNext(d, rest); err != nil {
				t.Fatal(err)
			}
			n, err := d.Next(rest, &frame)
			if n == 0 {
				if err == nil && (d.Want() <= len(rest) || d.Want() > 1<<12+MaxHead+1) {
					t.Fatalf("%d of %d bytes are wanted", d.Want(), len(rest))
				}
				if err != nil && !isProtocol(err) {
					t.Fatalf("not an error of the protocol: %v", err)
				}
				return
			}
			if err != nil || n > len(rest) || n < MinFrame {
				t.Fatalf("consumed %d of %d, %v", n, len(rest), err)
			}
			if len(frame.Data)+len(frame.Meta) > 1<<13 {
				t.Fatalf("%d bytes", len(frame.Data)+len(frame.Meta))
			}
			if rest = rest[n:]; FrameSize(&frame) < MinFrame {
				continue // written with heads longer than the shortest
			}
			again := Frame{}
			b := AppendFrame(nil, &frame)
			big := NewDecoder(Limits{Packet: 1 << 16}, nil)
			if m, err := big.Next(b, &again); m != len(b) || m != FrameSize(&frame) || err != nil {
				t.Fatalf("%+v is encoded as %x: %d, %v", frame, b, m, err)
			}
			if again.Kind != frame.Kind || again.Opaque != frame.Opaque || again.ID != frame.ID ||
				!bytes.Equal(again.Data, frame.Data) || again.Deadline != frame.Deadline ||
				!bytes.Equal(again.Meta, frame.Meta) || again.Flags != frame.Flags {
				t.Fatalf("%+v becomes %+v", frame, again)
			}
		}
	})
}

func isProtocol(err error) bool {
	_, ok := err.(ProtocolError)
	return ok
}

// FuzzWhoami: what is read is written such that it is read the same.
func FuzzWhoami(f *testing.F) {
	for _, w := range []Whoami{
		{Name: "client-0", Version: 1, Buffer: 2048},
		{Name: "g", Version: 300, Buffer: 512, Tags: "gzip,lzw", Ext: &Extension{
			Wire: 1, Features: 1023, MaxMessage: 1 << 20, Credit: 1 << 18, Exchanges: 100,
			Opaques: []uint64{266, 65535}, Tags: []string{"zstd"}, Token: []byte("secret"),
			Instance: "i-1", Window: 1 << 20}},
	} {
		f.Add(AppendWhoami(nil, &w))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		w, err := ParseWhoami(in)
		if err != nil {
			if !isProtocol(err) {
				t.Fatal(err)
			}
			return
		}
		b := AppendWhoami(nil, &w)
		again, err := ParseWhoami(b)
		if err != nil || !bytes.Equal(AppendWhoami(nil, &again), b) {
			t.Fatalf("%+v becomes %+v, %v", w, again, err)
		}
		if _, err := ParseError(in); err != nil && !isProtocol(err) {
			t.Fatal(err)
		}
	})
}

// A script is the input of a state machine's fuzz target, read byte by byte.
type script []byte

func (s *script) next() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

func (s *script) take(n int) []byte {
	n = min(n, len(*s))
	b := (*s)[:n]
	*s = (*s)[n:]
	return b
}

// opaque returns one that may be in use.
func (s *script) opaque(of *Session) uint64 {
	b := s.next()
	switch b >> 6 {
	case 0:
		return FirstOpaque + uint64(b&15)
	case 1:
		return serverRange.First + 2*uint64(b&15)
	case 2:
		return clientRange.First + 2*uint64(b&15)
	}
	if x := of.last; x != nil {
		return x.opaque
	}
	return of.lastOpaque
}

// message returns one that may be the application's or the protocol's.
func (s *script) message() Message {
	b := s.next()
	m := Message{ID: uint64(b & 15), Data: make([]byte, int(s.next())<<(b>>6*2))}
	if b&32 != 0 {
		m.ID = firstReserved + uint64(b&15)
	}
	if b&16 != 0 {
		m.Deadline, m.Meta = time.Second, []byte{0xa0}
	}
	return m
}

// act calls a method of the session as the script says.
func (s *script) act(of *Session, out []byte, now *time.Time) (_ []byte, err error) {
	switch op := s.next(); op % 16 {
	case 0, 1:
		m := s.message()
		out, _, err = of.AppendRequest(out, &m, op)
	case 2, 3, 4:
		m := s.message()
		out, err = of.AppendResponse(out, s.opaque(of), &m)
	case 5:
		m := s.message()
		out, _, err = of.AppendStart(out, &m, op)
	case 6, 7:
		m := s.message()
		out, err = of.AppendMessage(out, s.opaque(of), &m)
	case 8:
		out, err = of.AppendFinish(out, s.opaque(of))
	case 9:
		e := &Error{Code: Code(op), Text: string(s.take(int(op)))}
		out, err = of.AppendError(out, s.opaque(of), e)
	case 10:
		out, err = of.AppendCancel(out, s.opaque(of), Canceled)
	case 11:
		m := s.message()
		out, err = of.AppendPost(out, &m)
	case 12:
		switch op >> 4 {
		case 0:
			out = of.AppendGoAway(out, Unavailable, "bye")
		case 1:
			out, err = of.AppendLimits(out, 1<<14, 8)
		case 2:
			out, err = of.AppendAuth(out, []byte("x"))
		case 3:
			out, _, err = of.AppendWhoami(out, op)
		default:
			out, _, err = of.AppendPing(out, []byte("echo"), op)
		}
	case 13:
		if opaque := s.opaque(of); op < 192 {
			out = of.AppendConsumed(out, opaque, int(op)<<4)
		} else {
			err = of.Sink(opaque)
		}
	case 14:
		out = of.Pump(out, len(out)+int(op)<<4)
	default:
		*now = now.Add(time.Duration(op) * time.Millisecond)
		out, err = of.Tick(*now, out)
	}
	return out, err
}

// smallConfig makes limits that a fuzzer reaches.
func smallConfig(flags byte) Config {
	c := Config{
		Buffer: 256 + int(flags&1)*4096, MaxMessage: 4 << 10, MaxUnfinished: 8 << 10,
		Credit: 1 << 10, Exchanges: 8, Own: 16, Tags: Tags(flags >> 5), Compress: flags&2 != 0,
		Legacy: flags&4 != 0, Heartbeat: 100 * time.Millisecond, Handshake: time.Second,
	}
	if flags&8 != 0 {
		c.Window = 2 << 10
	}
	if flags&16 != 0 {
		c.Features = Feature(flags) * 5 & SessionFeatures
	}
	return c
}

// heed does with an event what an owner does that drops what streams bring, if
// sink says so, and reports events that a session should not tell of.
func heed(p *Session, e *Event, sink bool) error {
	switch {
	case e.Type == EventPost && p.cfg.NoPosts:
		return errors.New("a post of which nobody wants to hear")
	case e.Type == EventStart && sink:
		return p.Sink(e.Opaque)
	case e.Type == EventMessage:
		if x := p.find(e.Opaque); x == nil || x.is(sunk) {
			return fmt.Errorf("a message of stream %d, which is dropped or not there", e.Opaque)
		}
	}
	return nil
}

// feed makes input of what the script says: a frame, or any bytes.
func (s *script) feed(of *Session, in []byte) []byte {
	kinds := [...]Kind{KindPost, KindRequest, KindStart, KindMessage, KindFinish}
	op := s.next()
	if op >= 250 {
		return append(in, s.take(int(s.next()))...)
	}
	f := Frame{Kind: kinds[op%5], Opaque: s.opaque(of)}
	switch op / 5 % 8 {
	case 0:
		f.Message = Message{ID: IDCancel, Data: appendCancelData(nil, s.opaque(of), 1)}
	case 1:
		f.Message = Message{ID: IDCredit, Data: appendCreditData(nil, s.opaque(of), 100)}
	case 2:
		w := Whoami{Name: "x", Version: 1, Buffer: 128 << (op & 7)}
		if op&8 != 0 {
			w.Ext = &Extension{Wire: 1, Features: SessionFeatures, Exchanges: 4, Credit: 500,
				MaxMessage: 1 << 11}
		}
		f.Message = Message{ID: IDWhoami, Data: AppendWhoami(nil, &w)}
	default:
		f.Message = s.message()
		f.Flags = Flags(op >> 7)
	}
	if f.ID == 0 {
		f.ID = 1
	}
	return AppendFrame(in, &f)
}

// FuzzSession: whatever the peer sends, and whatever the owner calls, a session
// stays within its bounds and says only what can be read.
func FuzzSession(f *testing.F) {
	f.Add([]byte{0, 0}, []byte("\x00\x0a\x81\x00\x0a\x81"))
	f.Add([]byte{16, 1}, []byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	// The peer says who it is, opens a stream and sends a lot on it: see Sink.
	f.Add([]byte{1, 7}, []byte("\x01\x0b\x0a"+"\x01\x11\x02\x01\x20"+
		strings.Repeat("\x01\x12\x02\x01\xff", 8)+"\x01\x0f\x03\x01\x10"))
	addVectors(f, func(b []byte) {
		for how := range byte(4) {
			f.Add([]byte{32, how << 1}, append([]byte{1, 251, 250}, b...))
		}
	})
	f.Fuzz(func(t *testing.T, setup, todo []byte) {
		begin, s := script(setup), script(todo)
		c := smallConfig(begin.next())
		how := begin.next()
		c.Server, c.NoPosts = how&1 != 0, how&2 != 0
		p, now := NewSession(c), start
		var in, said []byte
		out := p.Open(now, nil)
		var e Event
		for err := error(nil); len(s) > 0 && err == nil; {
			if s.next()&1 == 0 {
				out, err = s.act(p, out, &now)
				if err != nil && !isProtocol(err) {
					err = nil // of no consequence
				}
			} else {
				in = s.feed(p, in)
				var n int
				for err == nil {
					n, out, err = p.Next(in, out, &e)
					if in = in[n:]; e.Type == EventNone {
						break
					}
					if err := heed(p, &e, how&4 != 0); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := check(p); err != nil {
				t.Fatal(err)
			}
			said, out = append(said, out...), out[:0]
		}
		readable(t, said)
		p.End(nil)
		if !p.Idle() {
			t.Fatal("something is left")
		}
	})
}

// readable decodes all that a session has said.
func readable(t *testing.T, said []byte) {
	d := NewDecoder(Limits{Tags: Gzip | LZW | Zstd}, NewCodecs())
	for len(said) > 0 {
		var f Frame
		n, err := d.Next(said, &f)
		if n == 0 {
			t.Fatalf("%x: %v", said[:min(100, len(said))], err)
		}
		said = said[n:]
	}
}
