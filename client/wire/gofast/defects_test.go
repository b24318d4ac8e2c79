package gofast

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The tests of this file are named after what gofast does wrong, one after the
// other. Those of sockets and goroutines are with the server and the client.

// legacyPair is a client of ours, and what an old server would see.
func legacyPair(t *testing.T, c Config) *pair {
	t.Helper()
	return ready(t, c, Config{Legacy: true})
}

// TestDefect01_LostConnectionIsToldToEachRequest: gofast's process dies.
func TestDefect01_LostConnectionIsToldToEachRequest(t *testing.T) {
	p := ready(t, Config{}, Config{})
	for i := range 3 {
		var err error
		m := Message{ID: 1, Data: []byte("question")}
		if p.client.out, _, err = p.client.s.AppendRequest(p.client.out, &m, i); err != nil {
			t.Fatal(err)
		}
	}
	p.run()
	told := map[any]int{}
	p.client.s.End(func(_ uint64, user any, ours bool) { told[user]++ })
	theirs := 0
	p.server.s.End(func(uint64, any, bool) { theirs++ })
	if len(told) != 3 || told[0]+told[1]+told[2] != 3 || theirs != 3 {
		t.Errorf("told are %v, and %d at the server", told, theirs)
	}
	if !p.client.s.Idle() || !p.server.s.Idle() {
		t.Error("not idle")
	}
}

// TestDefect02_HostileFramesCostNothing: 15 bytes keep a gofast server's core
// busy for ever, and so does an lzw bomb.
func TestDefect02_HostileFramesCostNothing(t *testing.T) {
	for _, name := range []string{"N4 truncated head in the map", "N10 lzw bomb"} {
		for _, v := range negatives {
			if v.name != name {
				continue
			}
			p := ready(t, Config{}, Config{Tags: LZW})
			p.server.in = unhex(t, v.hex)
			began := time.Now()
			p.server.step()
			if d := time.Since(began); p.server.err != v.err || d > 10*time.Second {
				t.Errorf("%s: %v after %v", name, p.server.err, d)
			}
		}
	}
}

// TestDefect03_CompressedFramesOfAllKinds: gofast closes the connection when a
// gzip stream is complete.
func TestDefect03_CompressedFramesOfAllKinds(t *testing.T) {
	d := NewDecoder(Limits{Tags: Gzip | LZW}, NewCodecs())
	for name, inner := range map[string][]byte{
		"complete gzip": gzipOf(plain(1000)), "lzw": lzwOf(plain(1000)),
		"four times over": nested(4), "gzip in lzw": lzwOf(gzipOf(plain(100))),
	} {
		var f Frame
		if _, err := d.Next(unhex(t, packetOf(inner)), &f); err != nil || f.ID != 111 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDefect04_TooLargeIsAnError: it panics in gofast's caller.
func TestDefect04_TooLargeIsAnError(t *testing.T) {
	p := ready(t, Config{}, Config{Legacy: true, Buffer: 512})
	s, big := p.client.s, Message{ID: 1, Data: make([]byte, 600)}
	_, err1 := s.AppendPost(nil, &big)
	_, _, err2 := s.AppendRequest(nil, &big, nil)
	_, _, err3 := s.AppendStart(nil, &big, nil)
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v, want %v", err, ErrTooLarge)
		}
	}
	big.Data = big.Data[:s.MaxData()]
	out, err := s.AppendPost(nil, &big)
	d := NewDecoder(Limits{Packet: 512}, nil)
	var f Frame
	if n, derr := d.Next(out, &f); err != nil || derr != nil || n != len(out) {
		t.Errorf("%d bytes of data: %v, %v", len(big.Data), err, derr)
	}
	if !s.Idle() {
		t.Error("what was not sent is open")
	}
}

// TestDefect06_WhoamiKeepsItsVersion: gofast announces the peer's version as
// its own, once it has heard it.
func TestDefect06_WhoamiKeepsItsVersion(t *testing.T) {
	p := ready(t, Config{Version: 1}, Config{Version: 7})
	for range 2 {
		out, opaque, err := p.client.s.AppendWhoami(nil, "again")
		if err != nil || opaque == 0 {
			t.Fatal(err)
		}
		p.client.out = out
		p.run()
	}
	if v := p.client.s.Peer().Version; v != 7 {
		t.Errorf("the server has version %d", v)
	}
	if v := p.server.s.Peer().Version; v != 1 {
		t.Errorf("the client has version %d", v)
	}
	if len(p.client.log) != 2 {
		t.Errorf("client hears %v", p.client.log)
	}
}

// TestDefect07_LargeGzipIsNotCut: gofast reads the first 32 KiB.
func TestDefect07_LargeGzipIsNotCut(t *testing.T) {
	for _, size := range []int{1000, 32 << 10, 50_000} {
		p := ready(t, Config{Compress: true, Buffer: 1 << 17},
			Config{Legacy: true, Tags: Gzip, Buffer: 1 << 17})
		var got []byte
		p.server.on = func(e *Event) { got = bytes.Clone(e.Data) }
		data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		var err error
		if p.client.out, err = p.client.s.AppendPost(p.client.out, &Message{ID: 1, Data: data}); err != nil {
			t.Fatal(err)
		}
		if small := len(p.client.out) < size/2; small != (size < 32<<10) {
			t.Errorf("%d bytes are sent as %d to a gofast peer", size, len(p.client.out))
		}
		if p.run(); !bytes.Equal(got, data) {
			t.Errorf("%d of %d bytes arrive", len(got), len(data))
		}
	}
	d := NewDecoder(Limits{Tags: Gzip, Packet: 1 << 20}, NewCodecs())
	var f Frame
	if _, err := d.Next(unhex(t, packetOf(gzipOf(randomPlain(100_000)))), &f); err != nil || len(f.Data) != 100_000 {
		t.Errorf("%d bytes, %v", len(f.Data), err)
	}
}

// randomPlain is plain with data that hardly shrinks.
func randomPlain(n int) []byte {
	data, x := make([]byte, n), uint32(1)
	for i := range data {
		x = x*1664525 + 1013904223
		data[i] = byte(x >> 24)
	}
	return appendInner(nil, &Message{ID: 111, Data: data})
}

// TestDefect10_LateFinishHitsNothing: with gofast it ends the next exchange that
// has the opaque.
func TestDefect10_LateFinishHitsNothing(t *testing.T) {
	p := legacyPair(t, Config{})
	c := p.client
	var first, second uint64
	var err error
	m := Message{ID: 1, Data: []byte("x")}
	if c.out, first, err = c.s.AppendStart(c.out, &m, "first"); err != nil {
		t.Fatal(err)
	}
	late := AppendFrame(nil, &Frame{Kind: KindFinish, Opaque: first})
	c.in = append(c.in, late...)
	c.step()
	if c.out, second, err = c.s.AppendStart(c.out, &m, "second"); err != nil || second == first {
		t.Fatalf("opaque %d is used again, %v", second, err)
	}
	if c.out, err = c.s.AppendFinish(c.out, first); err != nil {
		t.Fatal(err)
	}
	c.in = append(append(c.in, late...), late...)
	c.step()
	if c.err != nil || c.s.User(second) != "second" || c.s.User(first) != nil || len(c.log) != 1 {
		t.Errorf("%v; second stream %v, events %v", c.err, c.s.User(second), c.log)
	}
	seen := map[uint64]bool{first: true, second: true}
	for range 1000 { // it is long until an opaque comes again
		out, opaque, err := c.s.AppendRequest(nil, &m, nil)
		if err != nil || seen[opaque] || forbidden(opaque) {
			t.Fatalf("opaque %d, %v", opaque, err)
		}
		seen[opaque] = true
		f := Frame{Kind: KindRequest, Opaque: opaque, Message: m}
		c.in = append(c.in, AppendFrame(out[:0], &f)...)
		c.step()
	}
}

// TestDefect10_FinishOfARequestIsAnError: gofast's process dies of it.
func TestDefect10_FinishOfARequestIsAnError(t *testing.T) {
	c := legacyPair(t, Config{}).client
	_, opaque, err := c.s.AppendRequest(nil, &Message{ID: 1}, "asked")
	if err != nil {
		t.Fatal(err)
	}
	c.in = AppendFrame(nil, &Frame{Kind: KindFinish, Opaque: opaque})
	c.on = func(e *Event) {
		if e.Type != EventResponse || e.User != "asked" || e.Err == nil {
			t.Errorf("%+v", e)
		}
	}
	if c.step(); len(c.log) != 1 || c.err != nil || !c.s.Idle() {
		t.Errorf("%v, %v", c.log, c.err)
	}
}

// TestDefect11_NamesMayRepeat: gofast has a registry of names for the process.
func TestDefect11_NamesMayRepeat(t *testing.T) {
	for range 2 {
		ready(t, Config{Name: "same"}, Config{Name: "same"})
	}
}

// TestDefect12_HandshakeTakesOneRoundTripAndLittleMemory: gofast's polls every
// 100 ms and a connection has 15 MB.
func TestDefect12_HandshakeTakesOneRoundTripAndLittleMemory(t *testing.T) {
	p := connect(t, Config{}, Config{})
	p.client.in, p.client.out = p.server.out, nil
	p.client.step()
	if !p.client.s.Ready() {
		t.Error("the server's first bytes do not make the client ready")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	pairs := make([]*pair, 1000)
	for i := range pairs {
		pairs[i] = ready(t, Config{}, Config{})
		pairs[i].client.in, pairs[i].server.in = nil, nil
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / 2000
	t.Logf("%d bytes for each end", each)
	if each > 8<<10 {
		t.Errorf("%d bytes for each end, at most 8 KiB", each)
	}
	runtime.KeepAlive(pairs)
}

// TestDefect08_WhatGofastLacks goes once through what is negotiated.
func TestDefect08_WhatGofastLacks(t *testing.T) {
	p := ready(t, Config{}, Config{Buffer: 1000})
	c, s := p.client, p.server
	var asked Event
	s.on = func(e *Event) {
		if e.Type == EventRequest {
			asked = *e
			asked.Meta = bytes.Clone(e.Meta)
		}
	}
	big := Message{ID: 1, Data: bytes.Repeat([]byte("x"), 10_000), Deadline: 1500 * time.Microsecond,
		Meta: []byte{0xa0}}
	var opaque uint64
	var err error
	if c.out, opaque, err = c.s.AppendRequest(c.out, &big, "big"); err != nil {
		t.Fatal(err)
	}
	if p.run(); asked.Deadline != 2*time.Millisecond || !bytes.Equal(asked.Meta, big.Meta) {
		t.Errorf("deadline %v, metadata %x", asked.Deadline, asked.Meta)
	}
	if c.out, err = c.s.AppendCancel(c.out, opaque, DeadlineExceeded); err != nil {
		t.Fatal(err)
	}
	p.run()
	if s.out, err = s.s.AppendError(s.out, asked.Opaque, &Error{Code: Canceled}); err != nil {
		t.Fatal(err)
	}
	p.run()
	s.out = s.s.AppendGoAway(s.out, Unavailable, "restart")
	p.run()
	if _, _, err := c.s.AppendRequest(nil, &big, nil); !errors.Is(err, ErrGoingAway) {
		t.Error(err)
	}
	want := `[request 1 "xxxxxxxxxxxxxxxxxxxx" cancel 4101 "\x00\x00\x00\x00\x00\x00\x01\v\x00\x04" ` +
		`deadline exceeded] [go away 4103 "\x00\x0erestart" unavailable: restart]`
	if got := fmt.Sprint(s.log, c.log); got != want {
		t.Errorf("they hear %s, want %s", got, want)
	}
	if !c.s.Idle() || !s.s.Idle() {
		t.Error("not idle")
	}
}

// TestError_IsComparedByCode is how callers branch.
func TestError_IsComparedByCode(t *testing.T) {
	long := &Error{Code: NotFound, Text: "no such row", Retryable: true, RetryAfter: time.Second,
		Details: []byte{0x81, 0x01}}
	got, err := ParseError(AppendErrorData(nil, long))
	if err != nil || fmt.Sprint(*got) != fmt.Sprint(*long) {
		t.Errorf("%+v, %v, want %+v", got, err, long)
	}
	if !errors.Is(got, &Error{Code: NotFound}) || errors.Is(got, &Error{Code: Internal}) {
		t.Error("not compared by code")
	}
	bad := &Error{Code: 99, Text: "not UTF-8: \xff", Details: []byte{0x81}}
	got, err = ParseError(AppendErrorData(nil, bad))
	if err != nil || got.Code != 99 || !strings.HasPrefix(got.Error(), "code 99") {
		t.Errorf("%+v, %v", got, err)
	}
}
