package httpfront

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
	"github.com/hotrow/hotrow/internal/workers"
)

// A protocol answers on a connection's own event loop what memory holds, and has all else
// answered by goroutines that may wait (call), or by net/http. It is an eventloop.Protocol.
//
// A hit is: parse, decide, look up, append. It takes no lock of ours and
// allocates nothing (TestLoop_HitAllocatesNothing).
type protocol struct {
	h       *Handler
	workers workers.Pool // answers what memory cannot

	mu      sync.Mutex // guards what follows
	counted []*loopResource
}

var (
	_ eventloop.Prefetcher = (*protocol)(nil)
	_ eventloop.Ender      = (*protocol)(nil)
)

// newProtocol returns the protocol of event loops in front of h. What they answer is in
// h's Stats.
func newProtocol(h *Handler) *protocol {
	l := &protocol{h: h}
	h.loops.Store(l)
	return l
}

// register adds the counters of one loop to what Stats adds up.
func (l *protocol) register(r *loopResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counted = append(l.counted, r)
}

// Open makes the state of a connection; the server speaks second.
func (l *protocol) Open(c *eventloop.Conn, out []byte) []byte {
	c.Data = &peer{conn: c, http2: c.HTTP2()}
	return out
}

// End implements eventloop.Ender.
func (l *protocol) End(c *eventloop.Conn) {
	if p, ok := c.Data.(*peer); ok {
		p.end()
	}
}

// Tick does nothing: HTTP/1.1 has nothing to say by itself.
func (l *protocol) Tick(_ *eventloop.Conn, out []byte) ([]byte, eventloop.Next) {
	return out, eventloop.More
}

// Prefetch implements eventloop.Prefetcher: the documents and lists that the first requests ask
// for are on their way from main memory while those requests are parsed. It
// guesses: the format is JSON and nothing in the path is escaped, and a request
// that turns out to be another costs what it would have cost.
func (l *protocol) Prefetch(of eventloop.Scope, inputs [][]byte) {
	s := of.(*loop)
	for _, in := range inputs {
		path, ok := bytes.CutPrefix(http1.PeekTarget(in), []byte(s.live.BasePath))
		if !ok || len(path) == 0 {
			continue
		}
		what := row.Alias(path[1:])
		at := strings.IndexAny(what, "/?")
		if at < 0 || at == len(what)-1 {
			continue
		}
		res := s.resource(what[:at])
		switch {
		case res == nil:
		case what[at] == '/':
			s.lookups.Add(res.Resource, row.Key(what[at+1:]), row.FormatJSON)
		default:
			s.fetches.Add(res.Resource, what[at+1:], row.FormatJSON)
		}
	}
	s.lookups.Prefetch(&s.Snapshot)
	s.fetches.Fetch(&s.Snapshot)
}

// Step answers the requests at the front of in.
func (l *protocol) Step(c *eventloop.Conn, in, out []byte) (int, []byte, eventloop.Next) {
	s, p := c.Scope().(*loop), c.Data.(*peer)
	r := &s.r
	n := 0
	for n < len(in) {
		skip, gap := p.gap.Skip(in[n:])
		if gap == http1.NeedMore {
			return n, out, eventloop.More
		}
		n += skip
		length, verdict := r.parse(in[n:])
		switch verdict {
		case http1.Complete:
		case http1.NeedMore:
			return n, out, eventloop.More
		case http1.HandOver:
			length, ok := r.parseWhole(in[n:], s.live)
			if !ok {
				return n, out, eventloop.HandOver
			}
			l.park(c, p, s.live, in[n:n+length])
			return n + length, out, eventloop.Parked
		default:
			refused := http1.AppendRefusal(out, verdict, s.Began, s.live.common)
			s.logRefusal(p, refused[len(out):])
			return len(in), refused, eventloop.Close
		}
		closing := r.Close || c.Draining()
		grown, where := s.answer(p, r, out, closing)
		switch where {
		case onFullPath:
			return n, out, eventloop.HandOver
		case inDatabase:
			l.park(c, p, s.live, in[n:n+length])
			return n + length, out, eventloop.Parked
		}
		out, n = grown, n+length
		switch {
		case closing:
			return n, out, eventloop.Close
		case len(out) >= eventloop.FlushSize:
			return n, out, eventloop.Flush
		}
	}
	return n, out, eventloop.More
}

// A place is where the answer to a request is.
type place uint8

const (
	inMemory   place = iota
	inDatabase       // or is a problem: a goroutine says so
	onFullPath       // or in the database, and large; or the request is for neither
)

// answer appends the answer to r if memory has it.
func (s *loop) answer(p *peer, r *request, out []byte, closing bool) ([]byte, place) {
	s.Snapshot.Reuse()
	var t target
	switch err := s.live.route(&s.memo, p, r, &t); {
	case err != nil, t.profile:
		return out, inDatabase
	case t.kind >= pathList && (r.polls() || wantsEvents(r.Accept)),
		t.kind == pathSystem && t.name == watchPath:
		return out, inDatabase
	case t.kind == pathIndex, t.kind == pathSystem:
		return out, onFullPath
	}
	res := s.resource(t.name)
	switch {
	case res == nil:
		return out, inDatabase
	case t.kind == pathList:
		if grown, ok := s.answerKept(p, r, res, out, closing); ok {
			return grown, inMemory
		}
		return s.answerList(p, r, res, out, closing)
	}
	q := &s.q
	if q.ask(s.live, &s.memo, r, res.Resource, res.rule, t.key) != nil {
		return out, inDatabase
	}
	doc, state, at := res.Lookup(q.key, q.media.format, &s.Snapshot)
	if !q.takes(state, at) {
		return out, inDatabase
	}
	f := found{doc: doc, key: q.key, kept: state == resource.Hit}
	if state == resource.Stale {
		f.shared = s.own(at, resource.HitStale, q.private)
	} else {
		f.shared = s.block(at, q.private)
	}
	a, err := q.conclude(s.live, &s.memo, r, &f, nil)
	if err != nil {
		return out, inDatabase
	}
	res.answered(state, a.code)
	return s.append(p, r, res, state, out, closing), inMemory
}

// append appends the answer in s.a, which memory has given.
func (s *loop) append(
	p *peer, r *request, res *loopResource, state resource.State, out []byte, closing bool,
) []byte {
	s.Touch(&res.hits)
	grown := appendAnswer(out, r, &s.a, s.live.allow(r, s.q.private), closing, r.Head)
	if s.Access.On() {
		s.logHit(p, r, &s.q, state, grown[len(out):])
	}
	return grown
}

// answerList appends the answer to a request for documents by their keys if memory has
// all of them.
func (s *loop) answerList(
	p *peer, r *request, res *loopResource, out []byte, closing bool,
) ([]byte, place) {
	q, l := &s.q, &s.list
	if q.askList(s.live, &s.memo, r, res.Resource, res.rule, res.querySpec()) != nil ||
		!l.filtered {
		return out, onFullPath
	}
	size, absent, at := s.collect(q, l)
	if at == nil || size+len(s.docs) > min(s.live.MaxList, front.LoopListBytes) {
		return out, onFullPath
	}
	if _, err := q.concludeList(s.live, &s.memo, r, size, s.block(at, q.private), nil); err != nil {
		return out, onFullPath
	}
	res.answeredList(uint64(len(s.docs)), absent)
	return s.append(p, r, res, resource.Hit, out, closing), inMemory
}

// collect looks the keys of a list up, into s.docs: each document once, without those
// that are not there. It returns their size together. at is nil unless memory has
// answered for all keys, and has a document of one at least.
func (s *loop) collect(
	q *question, l *listQuery,
) (size int, absent uint64, at *resource.AsOf) {
	s.docs = s.docs[:0]
	clear(s.once)
	var own *resource.AsOf // of the newest copy: it shows what the others show
	for i := range l.keys {
		if i%fewKeys == 0 {
			for _, k := range l.keys[i:min(i+fewKeys, len(l.keys))] {
				s.lookups.Add(q.res, k, q.media.format)
			}
			s.lookups.Get(&s.Snapshot)
		}
		doc, state, as := s.lookups.Result(i%fewKeys, &s.Snapshot)
		if state == resource.Stale || !q.takes(state, as) {
			return 0, 0, nil
		}
		if as.Own {
			own = as
		}
		switch {
		case state == resource.Absent:
			absent++
		case l.limit > 0 && len(s.docs) == l.limit, s.repeated(l.keys, i):
		default:
			s.docs, at = append(s.docs, doc), as
			size += len(doc.Body())
		}
	}
	if at != nil && own != nil {
		at = own
	}
	return size, absent, at
}

// fewKeys is up to how many keys each is compared with those before it, and how many are
// looked up together.
const fewKeys = resource.MaxLookups

// repeated reports whether keys[i] is among those before it. It was called for those of
// them that are documents of the list.
func (s *loop) repeated(keys []row.Key, i int) bool {
	if len(keys) <= fewKeys {
		return slices.Contains(keys[:i], keys[i])
	}
	if s.once == nil {
		s.once = make(map[row.Key]struct{}, len(keys))
	}
	n := len(s.once)
	s.once[keys[i]] = struct{}{}
	return len(s.once) == n
}

// park has a goroutine answer a request while its connection waits: a load or a write takes
// longer than a loop may be held. message, the request with its body, is copied. A server
// that has begun to shut down meanwhile says so in the answer: the client must not send
// another request.
func (l *protocol) park(c *eventloop.Conn, p *peer, o *settings, message []byte) {
	p.conn.LocalAddr() // known from here on: only the loop may ask the socket
	message = bytes.Clone(message)
	l.workers.Go(func() {
		var out []byte
		var goesOn *stream
		next := eventloop.Close // unless there is an answer
		// From there on the peer is the loop's.
		defer func() {
			if c.ResumeThen(out, next); next == eventloop.Stream {
				goesOn.activate(func() bool { return l.h.live.Load() == o })
			}
		}()
		m := memos.Get().(*memo)
		defer m.release()
		m.ctx = context.Background()
		var r request
		if _, v := r.parse(message); v == http1.HandOver { // it was complete before
			r.parseWhole(message, o)
		}
		one := call{h: l.h, o: o, m: m, p: p, r: &r, ctx: m.ctx}
		one.budget, _ = c.Meter().(*front.ClientShare)
		one.answer(func(a *answer) {
			if a.code == http.StatusUnauthorized && r.credentials() != nil {
				p.wrong++
			}
			closing := r.Close || c.Draining() || p.wrong >= front.WrongTokens || a.stream != nil
			out = appendAnswer(make([]byte, 0, 512+a.length()), &r, a, one.allow(), closing, r.Head)
			switch {
			case a.stream != nil && p.follow(a.stream):
				goesOn, next = a.stream, eventloop.Stream
			case !closing:
				next = eventloop.More
			}
		})
	})
}

// maxSeen is how many resources a wake-up remembers: more cost more to search
// than a map.
const maxSeen = 8

// A loop is what the connections of one event loop share. The loop is its one
// writer; counters are read by others.
type loop struct {
	memo
	of      *protocol
	live    *settings
	lookups resource.Lookups
	fetches resource.ListFetches
	r       request              // that is being answered
	once    map[row.Key]struct{} // the keys of a long list

	byName map[string]*loopResource
	seen   []*loopResource // looked up in this wake-up: a handful

	blocks []block
	second int64
	date   []byte

	front.Turn
}

// newScope makes the state of a loop.
func (l *protocol) newScope() eventloop.Scope {
	return &loop{of: l, byName: make(map[string]*loopResource)}
}

// BeginTurn begins a wake-up of the loop: what the gates and the clock say is asked
// once, and before the first look-up.
func (s *loop) BeginTurn(now time.Time) {
	live, sec := s.of.h.live.Load(), now.Unix()
	if live != s.live {
		maps.DeleteFunc(s.byName, func(_ string, r *loopResource) bool { return !live.serves(r) })
	}
	if live != s.live || sec != s.second {
		s.live, s.second = live, sec
		s.date = http1.AppendDate(s.date[:0], now)
		s.blocks = s.blocks[:0]
	}
	for i := range s.blocks {
		s.blocks[i].current = false
	}
	s.Begin(now, live.Access)
	s.now = now
	s.seen = s.seen[:0]
}

// resource returns the resource called name, nil if there is none. name may alias a
// buffer.
func (s *loop) resource(name string) *loopResource {
	// Fast path: one of those that this wake-up has looked up.
	for _, r := range s.seen {
		if name == r.name {
			return r
		}
	}

	// Slow path: a reload may have changed which there are, and who may read.
	r, ok := s.live.Resources.Lookup(name)
	if !ok {
		return nil
	}
	lr := s.byName[name]
	if lr == nil || lr.Resource != r {
		lr = &loopResource{Resource: r, name: r.Name(), tally: r.Tally()}
		s.byName[lr.name] = lr
		s.of.register(lr)
	}
	lr.rule = r.Access().Read
	if len(s.seen) < maxSeen {
		s.seen = append(s.seen, lr)
	}
	return lr
}

// logHit logs a request that was answered from memory with answer.
func (s *loop) logHit(
	p *peer, r *request, q *question, state resource.State, answer []byte,
) {
	weight, picked := s.Access.Start(s.Began)
	if !picked {
		return
	}
	line := front.AccessLine{
		Peer: p.address(), Method: r.Method, Path: row.Alias(r.Path), Protocol: r.protocol(p),
		Cache: "hit", Resource: q.res.Name(), Principal: q.who,
		Agent: r.agent(), RequestID: requestID(row.Alias(r.RequestID)), Trace: r.traceID(),
	}
	if state == resource.Stale {
		line.Cache = "stale"
	}
	line.Status, line.Bytes = http1.AnswerSize(answer)
	s.Access.End(&line, weight)
}

// logRefusal logs a request that was too broken to be one.
func (s *loop) logRefusal(p *peer, answer []byte) {
	if !s.Access.On() {
		return
	}
	weight, picked := s.Access.Start(s.Began)
	if !picked {
		return
	}
	line := front.AccessLine{Peer: p.address()}
	line.Status, line.Bytes = http1.AnswerSize(answer)
	s.Access.End(&line, weight)
}
