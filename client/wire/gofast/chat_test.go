package gofast

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A talker is the owner of one end in a conversation: it does at random what
// owners may do, keeps their rules, and checks that what it hears is what was
// said.
type talker struct {
	t    *testing.T
	name string
	s    *Session
	in   []byte // has come, not consumed
	out  []byte // appended, not delivered

	asked   map[int]bool // requests of ours, by number, that are not answered
	cancel  []uint64     // opaques of some of them
	next    int          // number of the next request or stream
	owed    []uint64     // requests of the peer that we have not answered
	streams []*talk
	posts   int // sent
	heard   int // posts
}

// A talk is a stream as one end knows it.
type talk struct {
	opaque           uint64
	ours             bool
	sentEnd, gotEnd  bool
	sent, seen       int
	failed, canceled bool
}

func newTalker(t *testing.T, name string, c Config) *talker {
	p := &talker{t: t, name: name, s: NewSession(c), asked: map[int]bool{}}
	p.out = p.s.Open(start, nil)
	return p
}

// text returns data that its receiver can check: a number, and as many bytes.
func text(n, size int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(n))
	return append(b, bytes.Repeat([]byte{byte(n)}, size)...)
}

func (p *talker) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf(p.name+": "+format, args...)
}

// must checks what a method has returned: nothing, or that it has to wait.
func (p *talker) must(err error) bool {
	p.t.Helper()
	switch err {
	case nil:
		return true
	case ErrNoCredit, ErrNoOpaque, ErrGoingAway, ErrNotReady, ErrTooLarge:
		return false
	}
	p.fail("%v", err)
	return false
}

// do does what the script says.
func (p *talker) do(s *script) {
	size := int(s.next()) << (s.next() % 8)
	m := Message{ID: 1 + uint64(size%30), Data: text(p.next, size)}
	switch op := s.next(); op % 8 {
	case 0:
		var err error
		var opaque uint64
		p.out, opaque, err = p.s.AppendRequest(p.out, &m, p.next)
		p.asked[p.next] = p.must(err)
		if p.next++; err == nil {
			p.cancel = append(p.cancel, opaque)
		}
	case 1:
		talk := &talk{ours: true}
		var err error
		p.out, talk.opaque, err = p.s.AppendStart(p.out, &m, talk)
		if p.next++; p.must(err) {
			p.streams = append(p.streams, talk)
		}
	case 2:
		p.answer(int(op/8), size)
	case 3, 4:
		if n := len(p.streams); n > 0 {
			p.say(p.streams[int(op/8)%n], size)
		}
	case 5:
		if n := len(p.streams); n > 0 {
			p.finish(p.streams[int(op/8)%n], op&64 != 0)
		}
	case 6:
		var err error
		if p.out, err = p.s.AppendPost(p.out, &m); p.must(err) {
			p.posts++
		}
	case 7:
		p.other(op / 8)
	}
}

func (p *talker) other(op byte) {
	var err error
	switch op % 5 {
	case 0:
		p.out, _, err = p.s.AppendWhoami(p.out, p.next)
		p.asked[p.next] = err == nil
	case 1:
		p.out, _, err = p.s.AppendPing(p.out, text(p.next, 10), p.next)
		p.asked[p.next] = err == nil
	case 2:
		for _, talk := range p.streams {
			if talk.ours && !talk.canceled && !talk.failed && p.s.User(talk.opaque) == talk {
				talk.canceled = true
				p.out, err = p.s.AppendCancel(p.out, talk.opaque, Canceled)
				break
			}
		}
	case 3:
		p.out = p.s.Pump(p.out, len(p.out)+300)
	case 4:
		if len(p.cancel) > 0 {
			opaque := p.cancel[0]
			p.cancel = p.cancel[1:]
			if n, ok := p.s.User(opaque).(int); ok {
				delete(p.asked, n)
				p.out, err = p.s.AppendCancel(p.out, opaque, DeadlineExceeded)
			}
		}
	}
	p.next++
	p.must(err)
}

// answer answers one request, or fails it.
func (p *talker) answer(which, size int) {
	if len(p.owed) == 0 {
		return
	}
	i := which % len(p.owed)
	opaque := p.owed[i]
	p.owed = slices.Delete(p.owed, i, i+1)
	var err error
	if size%5 == 0 {
		p.out, err = p.s.AppendError(p.out, opaque, &Error{Code: NotFound, Text: "no"})
		if err != ErrNotAgreed {
			p.must(err)
			return
		}
	}
	p.out, err = p.s.AppendResponse(p.out, opaque, &Message{ID: 9, Data: text(7, size)})
	if !p.must(err) {
		p.out, err = p.s.AppendResponse(p.out, opaque, &Message{ID: 9, Data: text(7, 0)})
		p.must(err)
	}
}

func (p *talker) say(talk *talk, size int) {
	if talk.sentEnd || talk.canceled {
		return
	}
	var err error
	p.out, err = p.s.AppendMessage(p.out, talk.opaque, &Message{ID: 5, Data: text(talk.sent, size)})
	if p.must(err) {
		talk.sent++
	}
}

func (p *talker) finish(talk *talk, fail bool) {
	if talk.sentEnd || talk.canceled {
		return
	}
	talk.sentEnd = true
	var err error
	if fail {
		talk.failed = true
		p.out, err = p.s.AppendError(p.out, talk.opaque, &Error{Code: Aborted})
	} else {
		p.out, err = p.s.AppendFinish(p.out, talk.opaque)
	}
	p.must(err)
}

// hear works on what has come.
func (p *talker) hear() {
	var e Event
	for {
		n, out, err := p.s.Next(p.in, p.out, &e)
		if p.in, p.out = p.in[n:], out; err != nil {
			p.fail("%v", err)
		}
		if err := check(p.s); err != nil {
			p.fail("%v", err)
		}
		if e.Type == EventNone {
			return
		}
		p.event(&e)
	}
}

func (p *talker) event(e *Event) {
	if e.Err == nil && e.Type > EventReady && e.Type < EventFinish && e.ID != IDWhoami {
		if len(e.Data) < 4 || !bytes.Equal(e.Data, text(int(binary.BigEndian.Uint32(e.Data)), len(e.Data)-4)) {
			p.fail("%v has other data: %.40x", e.Type, e.Data)
		}
	}
	talk, _ := e.User.(*talk)
	switch e.Type {
	case EventPost:
		p.heard++
	case EventRequest:
		if p.owed = append(p.owed, e.Opaque); e.Refuse {
			p.answer(len(p.owed)-1, 1)
		}
	case EventResponse:
		n, ok := e.User.(int)
		if !ok || !p.asked[n] {
			p.fail("an answer to %v, which is not asked", e.User)
		}
		delete(p.asked, n)
	case EventStart:
		p.streams = append(p.streams, newTalk(p, e.Opaque))
	case EventMessage:
		if got := int(binary.BigEndian.Uint32(e.Data)); got != talk.seen || talk.gotEnd || talk.failed {
			p.fail("message %d of a stream, want %d: %+v", got, talk.seen, talk)
		}
		talk.seen++
		p.out = p.s.AppendConsumed(p.out, e.Opaque, len(e.Data))
	case EventFinish:
		if talk.gotEnd {
			p.fail("two ends of a stream")
		}
		talk.gotEnd = true
	case EventCancel:
		if talk != nil {
			p.finish(talk, true)
			break
		}
		i := slices.Index(p.owed, e.Opaque)
		if i < 0 {
			p.fail("a request is cancelled that is not open")
		}
		p.owed = slices.Delete(p.owed, i, i+1)
		var err error
		p.out, err = p.s.AppendError(p.out, e.Opaque, e.Err)
		p.must(err)
	}
}

func newTalk(p *talker, opaque uint64) *talk {
	talk := &talk{opaque: opaque}
	if err := p.s.SetUser(opaque, talk); err != nil {
		p.fail("%v", err)
	}
	return talk
}

// converse has two ends talk as the script says, and then come to an end. The
// bytes between them are cut anywhere.
func converse(t *testing.T, client, server Config, s *script) {
	server.Server = true
	a, b := newTalker(t, "client", client), newTalker(t, "server", server)
	for len(*s) > 0 {
		p, q := a, b
		op := s.next()
		if op&1 != 0 {
			p, q = b, a
		}
		if op&2 == 0 {
			p.do(s)
			continue
		}
		n := min(len(p.out), int(op>>2)<<(op>>5))
		q.in = append(q.in, p.out[:n]...)
		p.out = slices.Clone(p.out[n:])
		q.hear()
	}
	for range 10_000 {
		quiet := true
		for _, p := range []*talker{a, b} {
			q := a
			if p == a {
				q = b
			}
			p.out = p.s.Pump(p.out, 1<<20)
			for len(p.owed) > 0 {
				p.answer(0, 1)
			}
			for _, talk := range p.streams {
				p.finish(talk, false)
			}
			quiet = quiet && len(p.out) == 0 && len(q.in) == 0
			q.in, p.out = append(q.in, p.out...), nil
			q.hear()
		}
		if quiet {
			break
		}
	}
	a.rest(b)
	b.rest(a)
}

// rest checks that nothing is left when all is said.
func (p *talker) rest(q *talker) {
	for n, waits := range p.asked {
		if waits {
			p.fail("request %d is not answered", n)
		}
	}
	if p.heard != q.posts {
		p.fail("%d posts, want %d", p.heard, q.posts)
	}
	if ours, theirs := p.s.Live(); !p.s.Idle() || len(p.in) > 0 {
		p.fail("%d exchanges of ours and %d of the peer are left; %s", ours, theirs, describe(p.s))
	}
	out, err := p.s.Tick(start.Add(time.Second), nil)
	if err != nil || len(out) > 0 {
		p.fail("%x, %v", out, err)
	}
}

func describe(s *Session) string {
	text := ""
	for _, x := range s.locals.slots {
		if x != nil {
			text += fmt.Sprintf("ours %+v ", *x)
		}
	}
	for _, x := range s.remotes {
		text += fmt.Sprintf("theirs %+v ", *x)
	}
	return text
}

// FuzzConversation: two ends that keep the rules understand each other,
// whatever they talk of, however the bytes are cut.
func FuzzConversation(f *testing.F) {
	f.Add([]byte{0, 0}, []byte("0000000011111122222233333344444455555566666677777"))
	f.Add([]byte{1, 4}, bytes.Repeat([]byte{0, 9, 1, 1, 2, 255, 0, 3, 3, 250, 255}, 20))
	f.Add([]byte{2, 0}, bytes.Repeat([]byte{0, 200, 7, 0, 3, 255, 1, 3, 3, 2, 255, 254, 1, 13, 29, 5}, 20))
	f.Fuzz(func(t *testing.T, setup, todo []byte) {
		begin, s := script(setup), script(todo)
		client, server := talkConfig(begin.next()), talkConfig(begin.next())
		converse(t, client, server, &s)
	})
}

// talkConfig makes configurations of ends that understand each other.
func talkConfig(flags byte) Config {
	c := Config{
		Buffer: 300 + int(flags&1)*4096, MaxMessage: 8 << 10, MaxUnfinished: 1 << 20, Credit: 1 << 10,
		Exchanges: 8, Own: 16, Tags: Gzip, Compress: flags&2 != 0, Legacy: flags&4 != 0,
	}
	if flags&8 != 0 {
		c.Window = 2 << 10
	}
	if flags&16 != 0 {
		c.Features = SessionFeatures &^ FeatureCancel
	}
	if flags&32 != 0 {
		c.Features = FeatureErrors | FeatureFragments
	}
	return c
}

// TestSession_UnderstandsItself is FuzzConversation with scripts of chance: long
// ones, of all configurations.
func TestSession_UnderstandsItself(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 1))
		todo := make(script, 50+r.IntN(3000))
		for i := range todo {
			todo[i] = byte(r.Uint32())
		}
		client, server := byte(0), byte(0)
		if seed%2 == 1 {
			client, server = byte(r.Uint32()), byte(r.Uint32())
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			converse(t, talkConfig(client), talkConfig(server), &todo)
		})
	}
}
