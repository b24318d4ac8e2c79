package gofast

import (
	"bytes"
	"testing"
)

// frameOf is a request as a load generator sends it: 64 bytes of data.
func frameOf(opaque uint64) Frame {
	return frame(KindRequest, opaque, 112, bytes.Repeat([]byte("a"), 64))
}

func BenchmarkDecode(b *testing.B) {
	f := frameOf(266)
	in := AppendFrame(nil, &f)
	d := NewDecoder(Limits{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		if n, err := d.Next(in, &f); n != len(in) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	f := frameOf(266)
	out := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		out = AppendFrame(out[:0], &f)
	}
}

// BenchmarkSession_Answer is what a server does for a request that is answered
// at once: decode, dispatch, encode.
func BenchmarkSession_Answer(b *testing.B) {
	p := ready(b, Config{}, Config{})
	f := frameOf(266)
	in := AppendFrame(nil, &f)
	s, out := p.server.s, make([]byte, 0, 1<<10)
	var e Event
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if _, out, err = s.Next(in, out[:0], &e); err != nil || e.Type != EventRequest {
			b.Fatal(e.Type, err)
		}
		m := Message{ID: e.ID, Data: e.Data}
		if out, err = s.AppendResponse(out, e.Opaque, &m); err != nil {
			b.Fatal(err)
		}
		if _, out, err = s.Next(in[:0], out, &e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSession_Ask is what a client does for a request: encode, and decode
// the response.
func BenchmarkSession_Ask(b *testing.B) {
	p := ready(b, Config{}, Config{})
	s, out, in := p.client.s, make([]byte, 0, 1<<10), make([]byte, 0, 1<<10)
	data := bytes.Repeat([]byte("a"), 64)
	var e Event
	b.ReportAllocs()
	for b.Loop() {
		m := Message{ID: 112, Data: data}
		var opaque uint64
		var err error
		if out, opaque, err = s.AppendRequest(out[:0], &m, b); err != nil {
			b.Fatal(err)
		}
		f := Frame{Kind: KindRequest, Opaque: opaque, Message: m}
		in = AppendFrame(in[:0], &f)
		if _, out, err = s.Next(in, out, &e); err != nil || e.User != b {
			b.Fatal(e.Type, err)
		}
	}
}

// BenchmarkSession_Post is a one-way message, sent and received.
func BenchmarkSession_Post(b *testing.B) {
	p := ready(b, Config{}, Config{})
	m := Message{ID: 111, Data: bytes.Repeat([]byte("a"), 64)}
	var out []byte
	var e Event
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if out, err = p.client.s.AppendPost(out[:0], &m); err != nil {
			b.Fatal(err)
		}
		if _, _, err := p.server.s.Next(out, nil, &e); err != nil || e.Type != EventPost {
			b.Fatal(e.Type, err)
		}
	}
}

// BenchmarkSession_Sizes is BenchmarkSession_Post of messages no two of which
// are of the same size one after the other.
func BenchmarkSession_Sizes(b *testing.B) {
	p := ready(b, Config{}, Config{})
	data := bytes.Repeat([]byte("a"), 320)
	var out []byte
	var e Event
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m := Message{ID: 111, Data: data[:16+i*37%300]}
		var err error
		if out, err = p.client.s.AppendPost(out[:0], &m); err != nil {
			b.Fatal(err)
		}
		if _, _, err := p.server.s.Next(out, nil, &e); err != nil || e.Type != EventPost {
			b.Fatal(e.Type, err)
		}
	}
}

// BenchmarkSession_Stream is one message of a stream, sent and received.
func BenchmarkSession_Stream(b *testing.B) {
	p := ready(b, Config{Features: FeatureErrors}, Config{})
	m := Message{ID: 113, Data: bytes.Repeat([]byte("a"), 64)}
	out, opaque, err := p.client.s.AppendStart(nil, &m, nil)
	if err != nil {
		b.Fatal(err)
	}
	var e Event
	if _, _, err := p.server.s.Next(out, nil, &e); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if out, err = p.client.s.AppendMessage(out[:0], opaque, &m); err != nil {
			b.Fatal(err)
		}
		if _, _, err := p.server.s.Next(out, nil, &e); err != nil || e.Type != EventMessage {
			b.Fatal(e.Type, err)
		}
	}
}
