package httpfront

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/crew"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A Lane answers what memory holds on the connection's own loop, and hands
// every other request over to the full road: to the Handler itself, which
// decides about everything that the lane does not. It is a lane.Protocol.
//
// A hit is: parse, route, look up, append. It takes no lock of ours and
// allocates nothing (TestLane_HitAllocatesNothing).
type Lane struct {
	h    *Handler
	crew crew.Crew // answers what memory cannot
	desk crew.Desk // and what the disk may

	mu      sync.Mutex // guards counted
	counted []*laneResource
}

// NewLane returns the lane in front of h. What it answers is in h's Stats.
func NewLane(h *Handler) *Lane {
	l := &Lane{h: h}
	h.lane.Store(l)
	return l
}

// register adds the counters of one loop to what Stats adds up.
func (l *Lane) register(r *laneResource) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counted = append(l.counted, r)
}

// peer is what the lane remembers of one connection.
type peer struct {
	gap  http1.Gap
	host []byte    // the last Host that was allowed
	by   *settings // that allowed it: a reload may change who is known
	addr string    // of the peer; see address
}

// maxSeen is how many resources a wake-up remembers: more cost more to search
// than a map.
const maxSeen = 8

// maxHost is the longest Host that a connection remembers.
const maxHost = 256

// Open makes the state of a connection; the server speaks second.
func (l *Lane) Open(c *lane.Conn, out []byte) []byte {
	c.Data = new(peer)
	return out
}

// Tick does nothing: HTTP/1.1 has nothing to say by itself.
func (l *Lane) Tick(_ *lane.Conn, out []byte) ([]byte, lane.Next) { return out, lane.More }

// Step answers the requests at the front of in.
func (l *Lane) Step(c *lane.Conn, in, out []byte) (int, []byte, lane.Next) {
	s, p := c.Scope().(*scope), c.Data.(*peer)
	n := 0
	for n < len(in) {
		skip, gap := p.gap.Skip(in[n:])
		if gap == http1.NeedMore {
			return n, out, lane.More
		}
		n += skip
		var r http1.Request
		length, verdict := r.Parse(in[n:])
		switch verdict {
		case http1.Complete:
		case http1.NeedMore:
			return n, out, lane.More
		case http1.HandOver:
			return n, out, lane.HandOver
		default:
			refused := http1.AppendRefusal(out, verdict, s.now)
			s.logRefusal(c, refused[len(out):])
			return len(in), refused, lane.Close
		}
		closing := r.Close || c.Draining()
		grown, res, where := l.answer(c, s, &r, out, closing)
		switch where {
		case elsewhere:
			return n, out, lane.HandOver
		case inDatabase:
			l.park(c, s, res, &r, in[n:n+length], closing)
			return n + length, out, lane.Parked
		}
		if s.access.On() {
			s.logHit(c, &r, in[n:n+length], grown[len(out):])
		}
		out, n = grown, n+length
		switch {
		case closing:
			return n, out, lane.Close
		case len(out) >= lane.FlushSize:
			return n, out, lane.Flush
		}
	}
	return n, out, lane.More
}

// A place is where the answer to a request is.
type place uint8

const (
	inMemory   place = iota
	inDatabase       // or in memory, but not as a plain hit
	elsewhere        // the request is not the plain one of a document
)

// answer appends the answer to r if memory has it and r asks for nothing that
// only the full road knows. It returns the resource, too, unless the answer is
// elsewhere.
func (l *Lane) answer(
	c *lane.Conn, s *scope, r *http1.Request, out []byte, closing bool,
) ([]byte, *laneResource, place) {
	o := s.live
	if !l.hostAllowed(c, o, r.Host) {
		return out, nil, elsewhere
	}
	name, key, ok := splitPath(r.Path, o.BasePath)
	if !ok {
		return out, nil, elsewhere
	}
	res := s.resource(name)
	if res == nil || !res.public && !s.mayRead(res.rule, r.Authorization) {
		return out, nil, elsewhere
	}
	format, ok := s.format(r)
	if !ok {
		return out, nil, elsewhere
	}
	doc, at := res.Hit(row.Key(row.Alias(key)), format, &s.moments)
	if isPicky(r) && !grants(r, res.Source(), doc, at) {
		return out, nil, elsewhere
	}
	if doc == nil {
		grown, where := s.absent(r, res, at, out, closing)
		return grown, res, where
	}
	same := false
	if r.AcceptEncoding == nil {
		same, ok = laneMatch(r.IfNoneMatch, doc.ETag())
	} else {
		doc, same, ok = s.represent(r, res, key, doc)
	}
	if !ok {
		return out, res, inDatabase
	}
	res.tally.Add()
	s.touch(res)
	code := 200
	if same {
		code = 304
	}
	out = http1.AppendStatus(out, code)
	out = r.AppendConnection(out, closing)
	out = s.appendBlock(out, at, !res.public)
	out = appendRequestID(out, r.RequestID)
	switch {
	case same:
		res.notModified.Add(1)
		out = append(append(append(out, "Etag: "...), r.IfNoneMatch...), "\r\n\r\n"...)
	case r.Head:
		out = append(out, doc.WireHead()...)
	default:
		out = append(out, doc.Wire()...)
	}
	return out, res, inMemory
}

// hostAllowed reports whether the Host is one that the connection has been
// allowed before, or may be.
func (l *Lane) hostAllowed(c *lane.Conn, o *settings, host []byte) bool {
	p := c.Data.(*peer)
	if p.by == o && bytes.Equal(p.host, host) {
		return true
	}
	if len(host) == 0 || len(host) > maxHost || !o.hosts.Allow(string(host), c.LocalAddr()) {
		return false // the full road says why
	}
	p.host, p.by = append(p.host[:0], host...), o
	return true
}

// splitPath returns the resource and the key of a path that needs no decoding.
func splitPath(path []byte, base string) (name, key []byte, ok bool) {
	if len(base) > 0 {
		if path, ok = bytes.CutPrefix(path, []byte(base)); !ok {
			return nil, nil, false
		}
	}
	if len(path) == 0 || path[0] != '/' {
		return nil, nil, false
	}
	name, key, ok = bytes.Cut(path[1:], []byte{'/'})
	if !ok || len(name) == 0 || len(key) == 0 || len(key) > row.MaxKey || name[0] == '-' {
		return nil, nil, false
	}
	for _, b := range path {
		if b == '%' {
			return nil, nil, false
		}
	}
	return name, key, bytes.IndexByte(key, '/') < 0 && key[0] != '.'
}

// laneMatch reports whether If-None-Match names the tag, if it is no more than
// one strong tag.
func laneMatch(header []byte, tag string) (same, ok bool) {
	if header == nil {
		return false, true
	}
	if string(header) == tag {
		return true, true
	}
	// Another single tag is no match; a list, a star, a weak tag or what is no
	// tag takes the full road.
	return false, header[0] == '"' && httprule.TagLength(row.Alias(header)) == len(header)
}

// A scope is what the connections of one loop share. The loop is its one
// writer; stats are read by others.
type scope struct {
	l       *Lane
	now     time.Time
	live    *settings
	moments resource.Moments
	coming  resource.Foresight

	byName map[string]*laneResource
	seen   []*laneResource            // looked up in this wake-up: a handful
	tokens map[string]front.Principal // by Authorization header, bounded
	issued any                        // the set of tokens that tokens was filled from
	encodings
	accepts

	blocks []block
	second int64
	date   []byte

	lap
	access front.LoopLog
}

// A laneResource is a resource as one loop sees it, with the counters that
// the loop alone writes.
type laneResource struct {
	*resource.Resource
	name        string
	public      bool
	rule        resource.Rule
	tally       *resource.Tally
	notModified atomic.Uint64
	timed
}

// A block is what every answer of one source and one wake-up has in common.
type block struct {
	at   resource.Moment
	text []byte
	// private is the same with the Cache-Control of a protected answer.
	private []byte
}

// NewScope makes the state of a loop.
func (l *Lane) NewScope() lane.Scope {
	return &scope{l: l, byName: make(map[string]*laneResource)}
}

// Wake begins a wake-up of the loop: what the gates and the clock say is asked
// once, and before the first look-up.
func (s *scope) Wake(now time.Time) {
	s.now = now
	s.live = s.l.h.live.Load()
	s.begin(now)
	s.moments.Begin(now)
	s.seen = s.seen[:0]
	s.blocks = s.blocks[:0]
	if sec := now.Unix(); sec != s.second {
		s.second = sec
		s.date = http1.AppendDate(s.date[:0], now)
	}
}

// resource returns the resource called name, nil if there is none.
func (s *scope) resource(name []byte) *laneResource {
	// Fast path: one of those that this wake-up has looked up.
	for _, r := range s.seen {
		if string(name) == r.name {
			return r
		}
	}

	// Slow path: a reload may have changed which there are, and who may read.
	return s.look(row.Alias(name))
}

// look looks a resource up for this wake-up. name may alias a buffer.
func (s *scope) look(name string) *laneResource {
	r, ok := s.live.Resources.Lookup(name)
	if !ok {
		return nil
	}
	lr := s.byName[name]
	if lr == nil || lr.Resource != r {
		lr = &laneResource{Resource: r, name: r.Name(), tally: r.Tally()}
		s.byName[lr.name] = lr
		s.l.register(lr)
	}
	lr.rule = r.Access().Read
	lr.public = lr.rule == "public"
	if len(s.seen) < maxSeen {
		s.seen = append(s.seen, lr)
	}
	return lr
}

// maxTokens bounds what a loop remembers of Authorization headers.
const maxTokens = 1024

// mayRead reports whether whoever sends an Authorization header passes a rule
// that is not public.
// What a header is worth is remembered while the tokens are the same.
func (s *scope) mayRead(rule resource.Rule, header []byte) bool {
	if len(header) == 0 || s.live.Auth == nil || s.live.Issued == nil {
		return false
	}
	if issued := s.live.Issued(); issued != s.issued || len(s.tokens) > maxTokens {
		s.issued, s.tokens = issued, make(map[string]front.Principal)
	}
	p, known := s.tokens[row.Alias(header)]
	if !known {
		if token, isBearer := bytes.CutPrefix(header, []byte("Bearer ")); isBearer {
			p, known = s.live.Auth(string(token))
		}
		if !known {
			return false
		}
		s.tokens[string(header)] = p
	}
	return rule.Allows(p.Roles)
}

// appendBlock appends the header lines that all answers of a source in one
// wake-up share.
func (s *scope) appendBlock(out []byte, at *resource.Moment, private bool) []byte {
	for i := range s.blocks {
		if b := &s.blocks[i]; b.at.SameSource(at) {
			return append(out, b.of(private)...)
		}
	}
	if len(s.blocks) < cap(s.blocks) {
		s.blocks = s.blocks[:len(s.blocks)+1]
	} else {
		s.blocks = append(s.blocks, block{})
	}
	b := &s.blocks[len(s.blocks)-1]
	b.at = *at
	b.text = s.write(b.text[:0], at, s.live.CacheControl)
	b.private = s.write(b.private[:0], at, privateControl)
	return append(out, b.of(private)...)
}

func (b *block) of(private bool) []byte {
	if private {
		return b.private
	}
	return b.text
}

// write makes a block.
func (s *scope) write(dst []byte, at *resource.Moment, cacheControl string) []byte {
	dst = append(dst, s.date...)
	return s.live.appendLines(dst, cacheStatus(resource.HitMemory), cacheControl, at.Token, at.Lag)
}
