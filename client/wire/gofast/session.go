package gofast

import "time"

// Config says how a session behaves. A zero field takes its default; a copy is
// kept.
type Config struct {
	// Server says that this end has accepted the connection. The two ends give
	// out different opaques.
	Server  bool
	Name    string // announced: hotrow
	Version uint64 // announced: 1
	// Legacy says to offer nothing beyond gofast's own protocol.
	Legacy bool
	// Features are what is offered: SessionFeatures.
	Features Feature

	Buffer   int  // longest packet that is accepted: 64 KiB
	Tags     Tags // compressions that are read: none
	Compress bool // compress what is sent with what the peer reads
	Codecs   *Codecs

	MaxMessage    int // longest message that is accepted: 1 MiB
	MaxUnfinished int // bytes of fragments that are waited for: 4 MaxMessage
	Credit        int // bytes that the peer may send on a new stream: 256 KiB
	Window        int // and on all streams together; 0: no such bound
	Exchanges     int // that the peer may have open: 1,024
	Own           int // that we may have open: 16,384

	// NoPosts says that the owner drops posts: they are counted, and no events.
	NoPosts bool

	// Opaques overrides the range for what we open.
	Opaques Range

	Token    []byte // announced by a client
	Instance string // announced by a server

	Handshake time.Duration // for the peer to say who it is: 10 s
	Heartbeat time.Duration // between ours: 5 s; negative: never
	Missed    int           // heartbeats of the peer until it is given up: 3
}

// withDefaults returns c with its zero fields filled in.
func (c Config) withDefaults() Config {
	set := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	set(&c.Buffer, DefaultPacket)
	set(&c.MaxMessage, 1<<20)
	set(&c.MaxUnfinished, 4*c.MaxMessage)
	set(&c.Credit, 256<<10)
	set(&c.Exchanges, 1024)
	set(&c.Own, 16384)
	set(&c.Missed, 3)
	if c.Name == "" {
		c.Name = "hotrow"
	}
	if c.Version == 0 {
		c.Version = 1
	}
	if c.Features == 0 {
		c.Features = SessionFeatures
	}
	if c.Codecs == nil && (c.Tags != 0 || c.Compress) {
		c.Codecs = NewCodecs()
	}
	if c.Opaques == (Range{}) {
		c.Opaques = clientRange
		if c.Server {
			c.Opaques = serverRange
		}
	}
	if c.Handshake <= 0 {
		c.Handshake = 10 * time.Second
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 5 * time.Second
	}
	return c
}

// unknownBuffer is the longest packet that a peer is sent before it has said
// what it accepts: gofast's default.
const unknownBuffer = 512

// A Session is one end of a connection. What comes in goes through Next, which
// answers by itself what the protocol asks for, and tells the rest as events.
// What goes out is appended by the methods whose names begin with Append, each
// to whatever the owner will write next, in the order of the calls.
//
// A Session does no I/O and has no lock: its owner calls it from one goroutine
// at a time. After an error of Next or Tick, which is a ProtocolError, only End
// may be called.
type Session struct {
	cfg Config
	dec Decoder

	peer   Whoami
	agreed Feature
	ready  bool
	// peerBuffer and peerMessage are the longest packet and message that the
	// peer accepts, ownLimit how many exchanges we may have open with it.
	peerBuffer, peerMessage, ownLimit int
	// peerCredit and ourCredit are what a new stream begins with; window and
	// grant are the credit of all streams together, if windowed and granting.
	peerCredit, ourCredit, window, grant, used int64
	windowed, granting                         bool
	zip                                        Tags // what to compress with
	zipNumber                                  byte

	opaques    Range
	lastOpaque uint64
	locals     locals
	remotes    map[uint64]*exchange
	last       *exchange // that find has found last
	free       []*exchange
	hand       hand
	segments   []*segment
	unfinished int         // bytes of fragments
	pending    []*exchange // those with a queue, in turn
	unsent     int64       // bytes in their queues

	going, gone bool // we, or the peer, have said that it ends

	opened, heardAt, beatAt time.Time // all times are those of ticks
	heard                   bool      // since the last tick
	beats, seenBeats        uint64    // sent; those of the peer at the last tick
	peerBeatAt              time.Time
	peerBeatGap             time.Duration // the longest between two of them

	heading  heading // of the last plain frame
	stats    Stats
	scratch  []byte // control messages
	packed   []byte // compressed ones
	whoamiAt uint64 // opaque of our own whoami
}

// A hand is the request that Next has told of last. As long as Next is not
// called again it is in no table: an answer that comes at once costs nothing.
type hand struct {
	opaque, id uint64
	live       bool
	refuse     bool
}

// NewSession returns the session of a new connection.
func NewSession(c Config) *Session {
	c = c.withDefaults()
	if !c.Opaques.valid() {
		panic("BUG: a range of opaques that no gofast peer accepts")
	}
	s := &Session{
		cfg: c, peerBuffer: unknownBuffer, peerMessage: unknownBuffer,
		ownLimit: c.Own, opaques: c.Opaques, lastOpaque: c.Opaques.Last,
	}
	s.dec.init(Limits{Packet: c.Buffer, Tags: c.Tags, Inflated: c.Buffer}, c.Codecs)
	return s
}

// Open appends the first message of the connection. It is called once, before
// anything else; now is the time.
func (s *Session) Open(now time.Time, out []byte) []byte {
	s.opened, s.heardAt, s.beatAt = now, now, now
	x, err := s.open(IDWhoami, nil, 0)
	if err != nil {
		panic("BUG: no opaque for the first message: " + err.Error())
	}
	s.whoamiAt = x.opaque
	return s.appendWhoami(out, KindRequest, x.opaque)
}

// Ready reports whether the peer has said who it is.
func (s *Session) Ready() bool { return s.ready }

// Peer returns what the peer has said of itself, when Ready. It must not be
// changed.
func (s *Session) Peer() *Whoami { return &s.peer }

// Agreed returns the features that both ends offer: none for a gofast peer.
func (s *Session) Agreed() Feature { return s.agreed }

// Legacy reports whether the peer is one of gofast's own protocol alone.
func (s *Session) Legacy() bool { return s.peer.Ext == nil }

// MaxData returns how many bytes of data a message to the peer may have at
// most.
func (s *Session) MaxData() int {
	if s.agreed&FeatureFragments != 0 {
		return s.peerMessage
	}
	return min(s.peerMessage, s.peerBuffer-Overhead)
}

// Live returns how many exchanges are open: those that we have opened, and
// those of the peer that are not answered or finished.
func (s *Session) Live() (ours, theirs int) {
	theirs = len(s.remotes)
	if s.hand.live {
		theirs++
	}
	ours = s.locals.live
	if s.whoamiAt != 0 {
		ours-- // our own first question is nobody's exchange
	}
	return ours, theirs
}

// Idle reports whether nothing is open and nothing is queued.
func (s *Session) Idle() bool {
	ours, theirs := s.Live()
	return ours+theirs == 0 && len(s.pending) == 0
}

// Stats returns the counters.
func (s *Session) Stats() Stats { return s.stats }

// CountFlush counts one write of what was appended.
func (s *Session) CountFlush() { s.stats.Flushes++ }

// Silent returns how long ago the peer's last heartbeat came, 0 if none has.
func (s *Session) Silent(now time.Time) time.Duration {
	if s.seenBeats == 0 {
		return 0
	}
	return now.Sub(s.peerBeatAt)
}

// User returns what an exchange was opened with or SetUser has set, nil if
// there is no such exchange.
func (s *Session) User(opaque uint64) any {
	if x := s.find(opaque); x != nil {
		return x.user
	}
	return nil
}

// SetUser gives a request or stream of the peer a value of the owner's, which
// comes with its events.
func (s *Session) SetUser(opaque uint64, user any) error {
	s.park()
	x := s.find(opaque)
	if x == nil {
		return ErrNoExchange
	}
	x.user = user
	return nil
}

// Each calls f for each exchange of ours that is open and not given up. f may give it up.
func (s *Session) Each(f func(opaque uint64, user any)) {
	for _, x := range s.locals.slots {
		if x != nil && !x.is(abandoned) && x.opaque != s.whoamiAt {
			f(x.opaque, x.user)
		}
	}
}

// End forgets everything, and calls f, which may be nil, for each exchange that
// was open: ours is whether we had opened it. The connection is closed.
func (s *Session) End(f func(opaque uint64, user any, ours bool)) {
	s.park()
	whoami := s.whoamiAt
	tell := func(x *exchange) {
		if f != nil && !x.is(abandoned) && x.opaque != whoami {
			f(x.opaque, x.user, x.is(local))
		}
	}
	slots, remotes := s.locals.slots, s.remotes
	s.locals, s.remotes, s.last, s.pending = locals{}, nil, nil, nil
	s.segments, s.free, s.unfinished, s.whoamiAt = nil, nil, 0, 0
	for _, x := range slots {
		if x != nil {
			tell(x)
		}
	}
	for _, x := range remotes {
		tell(x)
	}
}
