package wirefront

import (
	"bytes"
	"encoding/hex"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/resource"
)

// A stepper drives a front without a socket: what Send is given goes nowhere.
type stepper struct {
	t      testing.TB
	f      *Front
	conn   *eventloop.Conn
	client *gofast.Session
}

// newStepper connects a session to a front.
func newStepper(t testing.TB, f *Front) *stepper {
	t.Helper()
	scope := f.NewScope()
	s := &stepper{t: t, f: f, conn: eventloop.NewTestConn(scope),
		client: gofast.NewSession(gofast.Config{})}
	scope.BeginTurn(time.Now())
	hello := f.Open(s.conn, nil)
	s.take(hello)
	s.step(s.client.Open(time.Now(), nil))
	t.Cleanup(func() { f.End(s.conn) })
	return s
}

// take gives the client what the server has sent.
func (s *stepper) take(b []byte) {
	for len(b) > 0 {
		var e gofast.Event
		n, _, err := s.client.Next(b, nil, &e)
		if err != nil {
			s.t.Fatal(err)
		}
		if b = b[n:]; e.Type == gofast.EventNone {
			return
		}
	}
}

// step gives the server input and returns what it answers at once.
func (s *stepper) step(in []byte) (int, []byte, eventloop.Next) {
	s.conn.Scope().(*scope).BeginTurn(time.Now())
	return s.f.Step(s.conn, in, nil)
}

// gets returns n requests for a document.
func (s *stepper) gets(n int, g rows.Get) []byte {
	var out []byte
	for range n {
		var err error
		out, _, err = s.client.AppendRequest(out, &gofast.Message{ID: rows.IDGet, Data: g.Append(nil)}, nil)
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

// warm has memory hold a document.
func warm(t testing.TB, f *Front, name, key string) {
	t.Helper()
	s := f.NewScope().(*scope)
	eventually(t, name+"/"+key+" is in memory", func() bool {
		s.BeginTurn(time.Now())
		r, _ := f.live.Load().Resources.Lookup(name)
		_, _ = r.Get(t.Context(), "10", resource.Options{})
		_, state, _ := r.Lookup("10", 0, &s.Snapshot)
		return state == resource.Hit
	})
}

// TestStep_HitAllocatesNothing: from the bytes of the request to those of the
// answer, a position and an entity tag included.
func TestStep_HitAllocatesNothing(t *testing.T) {
	set, _ := openSet(t)
	f := New(Options{Resources: set})
	defer f.Close()
	warm(t, f, "depts", "10")
	s := newStepper(t, f)
	position := mustPosition(t, f, "depts")
	for _, g := range []rows.Get{
		{Resource: "depts", Key: "10"}, {Resource: "depts", Key: "10", Min: position},
		{Resource: "depts", Key: "10", IfNoneMatch: `"x"`},
	} {
		const burst = 100
		in := s.gets(burst, g)
		out := make([]byte, 0, 64<<10)
		c := s.conn.Data.(*conn)
		n := testing.AllocsPerRun(50, func() {
			s.conn.Scope().(*scope).BeginTurn(time.Now())
			used, answered, _ := f.Step(s.conn, in, out[:0])
			if used != len(in) || len(answered) < burst*60 {
				t.Fatalf("%d of %d bytes used, %d answered", used, len(in), len(answered))
			}
		})
		// The feed of the database allocates meanwhile: a few for each burst on a
		// busy machine. A hit that did would make a hundred.
		if n > burst/5 || c.side != nil {
			t.Errorf("%+v: %v allocations for %d hits", g, n, burst)
		}
	}
}

func mustPosition(t testing.TB, f *Front, name string) string {
	t.Helper()
	r, ok := f.live.Load().Resources.Lookup(name)
	if !ok {
		t.Fatal("no resource")
	}
	return r.Position().String()
}

// BenchmarkStep is a burst of hits: a hundred callers over one connection.
func BenchmarkStep(b *testing.B) {
	set, _ := openSet(b)
	f := New(Options{Resources: set})
	defer f.Close()
	warm(b, f, "depts", "10")
	s := newStepper(b, f)
	const burst = 100
	in := s.gets(burst, rows.Get{Resource: "depts", Key: "10"})
	out := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		s.conn.Scope().(*scope).BeginTurn(time.Now())
		f.Step(s.conn, in, out[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/burst, "ns/hit")
}

// stepSeeds are inputs of a connection behind its handshake.
func stepSeeds(s *stepper) [][]byte {
	request := func(id uint64, payload []byte) []byte {
		out, _, err := s.client.AppendRequest(nil, &gofast.Message{ID: id, Data: payload}, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		return out
	}
	get := rows.Get{Resource: "depts", Key: "10"}
	start, opaque, err := s.client.AppendStart(nil, &gofast.Message{ID: rows.IDEchoReceive,
		Data: rows.AppendEcho(nil, nil)}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	canceled, _ := s.client.AppendCancel(bytes.Clone(start), opaque, gofast.Canceled)
	seeds := [][]byte{
		s.gets(3, get), s.gets(2, rows.Get{Resource: "depts", Key: "99"}),
		request(rows.IDGetMulti, (&rows.GetMulti{Resource: "depts", Keys: []string{"10"}}).Append(nil)),
		request(rows.IDInfo, rows.AppendEmpty(nil)), request(rows.IDGet, []byte("junk")),
		request(rows.IDEchoRequest, rows.AppendEcho(nil, []byte("aaaa"))), request(99, nil),
		append(s.gets(1, get), 0xd9, 0xd9, 0xf7), canceled, {0x6a, 0x75, 0x6e, 0x6b},
	}
	for _, text := range []string{ // the frames that hurt gofast
		"d9d9f75b0000000100000000", "d9d9f7c64ad9010a46d82bbf011900", "d9d9f7c844d903e840",
		"d9d9f7c844d903e840ff", "d9d9f7c650d903e84cd82bbfd82c191010d82d40ff",
	} {
		b, err := hex.DecodeString(text)
		if err != nil {
			s.t.Fatal(err)
		}
		seeds = append(seeds, append(s.gets(1, get), b...))
	}
	return seeds
}

// FuzzStep: whatever comes behind a handshake, the front consumes no more than
// there is, does not panic, answers whole frames, and consumes the same however it was cut.
func FuzzStep(f *testing.F) {
	set, _ := openSet(f)
	front := New(Options{Resources: set, Perf: true})
	f.Cleanup(front.Close)
	warm(f, front, "depts", "10")
	for i, seed := range stepSeeds(newStepper(f, front)) {
		f.Add(seed, uint16(i*7))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		whole := newStepper(t, front)
		used, out, next := whole.step(in)
		if used > len(in) || next == eventloop.Flush && used == 0 {
			t.Fatalf("Step(%x) consumes %d and says %v", in, used, next)
		}
		parts := newStepper(t, front)
		at := int(cut) % (len(in) + 1)
		first, answered, then := parts.step(in[:at])
		if then == eventloop.More && at < len(in) {
			n, more, last := parts.step(in[first:])
			first, answered, then = first+n, append(answered, more...), last
		}
		if then == eventloop.More && next == eventloop.More && first != used {
			t.Fatalf("%x cut at %d: %d bytes consumed, whole: %d", in, at, first, used)
		}
		check(t, out)
		check(t, answered)
	})
}

// check fails unless out is whole frames.
func check(t *testing.T, out []byte) {
	t.Helper()
	d := gofast.NewDecoder(gofast.Limits{Packet: 1 << 20}, nil)
	for len(out) > 0 {
		var f gofast.Frame
		n, err := d.Next(out, &f)
		if n == 0 || err != nil {
			t.Fatalf("the front sends %x: %v", out, err)
		}
		out = out[n:]
	}
}
