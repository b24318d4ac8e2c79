package gofast

import (
	"math"
	"strings"
)

// minBuffer is the least that a peer must accept, so that the protocol's own
// messages fit.
const minBuffer = 128

// maxBarriers is how many whoami requests may wait for earlier requests.
const maxBarriers = 64

// maxWhoami is how long a whoami may be whose receiver has not said what it
// accepts. A token that makes it longer goes in an AUTH message.
const maxWhoami = 400

// appendWhoami appends ours, as a request or as a response.
func (s *Session) appendWhoami(out []byte, kind Kind, opaque uint64) []byte {
	w := Whoami{
		Name: s.cfg.Name, Version: s.cfg.Version, Buffer: uint64(s.cfg.Buffer),
		Tags: (s.cfg.Tags & legacyTags).String(),
	}
	if !s.cfg.Legacy {
		w.Ext = s.extension()
	}
	s.scratch = AppendWhoami(s.scratch[:0], &w)
	if len(s.scratch) > maxWhoami && w.Ext != nil {
		w.Ext.Token = nil
		s.scratch = AppendWhoami(s.scratch[:0], &w)
	}
	if kind == KindRequest && opaque != 0 && s.locals.get(opaque) != nil {
		s.stats.TxReq++
	} else {
		s.stats.TxResp++
	}
	before := len(out)
	out = appendFrame(out, kind, opaque, &Message{ID: IDWhoami, Data: s.scratch})
	s.stats.Tx++
	s.stats.TxByte += uint64(len(out) - before)
	return out
}

// extension returns what we offer.
func (s *Session) extension() *Extension {
	c := &s.cfg
	x := &Extension{
		Wire: WireVersion, Features: c.Features, MaxMessage: uint64(c.MaxMessage),
		Credit: uint64(c.Credit), Exchanges: uint64(c.Exchanges), Window: uint64(c.Window),
		Token: c.Token, Instance: strings.ToValidUTF8(c.Instance, "?"),
		Opaques: []uint64{c.Opaques.First, c.Opaques.Last},
	}
	if short := s.wouldShorten(); short {
		x.Opaques = []uint64{shortRange.First, shortRange.Last}
	}
	if c.Tags&Zstd != 0 {
		x.Tags = []string{"zstd"}
	}
	return x
}

// wouldShorten reports whether a negotiated peer lets us use shortRange.
func (s *Session) wouldShorten() bool { return s.cfg.Opaques == clientRange }

// receiveOwn answers what the peer asks of the protocol itself.
func (s *Session) receiveOwn(out []byte, e *Event) ([]byte, error) {
	if e.ID == IDPing {
		echo, _, ok := readSized(e.Data, 2)
		if !ok {
			return out, ErrControl
		}
		s.scratch = appendPingData(s.scratch[:0], echo)
		s.stats.TxResp++
		return s.put(out, KindRequest, e.Opaque, &Message{ID: IDPing, Data: s.scratch}), nil
	}
	opaque := e.Opaque
	out, err := s.receiveWhoami(out, e, true)
	if err != nil {
		return out, err
	}
	return s.barrier(out, opaque)
}

// barrier answers a whoami request when all requests before it are answered.
func (s *Session) barrier(out []byte, opaque uint64) ([]byte, error) {
	if out = s.passBarriers(out); len(s.segments) == 0 {
		return s.appendWhoami(out, KindRequest, opaque), nil
	}
	if len(s.segments) >= maxBarriers {
		return out, ErrFlood
	}
	last := s.segments[len(s.segments)-1]
	if last.closed { // nothing was asked between two barriers
		last = &segment{}
		s.segments = append(s.segments, last)
	}
	last.barrier, last.closed = opaque, true
	return out, nil
}

// passBarriers answers the whoami requests that have waited long enough.
func (s *Session) passBarriers(out []byte) []byte {
	for len(s.segments) > 0 && s.segments[0].left == 0 {
		if first := s.segments[0]; first.closed {
			out = s.appendWhoami(out, KindRequest, first.barrier)
		}
		s.segments = s.segments[1:]
	}
	return out
}

// receiveWhoami learns who the peer is from the first whoami that comes, which
// may be a question or an answer. Later ones change nothing.
func (s *Session) receiveWhoami(out []byte, e *Event, first bool) ([]byte, error) {
	w, err := ParseWhoami(e.Data)
	if err != nil {
		return out, err
	}
	if e.Opaque == s.whoamiAt {
		s.whoamiAt = 0
	}
	if s.ready || !first {
		return out, nil
	}
	s.ready, s.peer = true, w
	s.peerBuffer = int(min(w.Buffer, math.MaxInt32))
	s.peerMessage = s.peerBuffer
	tags := ParseTags(w.Tags) & legacyTags
	if s.cfg.Legacy {
		s.peer.Ext = nil
	}
	if x := s.peer.Ext; x != nil {
		if err := s.agree(x); err != nil {
			return out, err
		}
		for _, name := range x.Tags {
			tags |= tagOf(name)
		}
	}
	if s.cfg.Compress {
		s.zip, s.zipNumber = tags.best()
	}
	e.Type = EventReady
	if s.agreed&FeatureAuth != 0 && s.tokenIsLong() {
		return s.AppendAuth(out, s.cfg.Token)
	}
	return out, nil
}

// tokenIsLong reports whether our whoami has no room for the token.
func (s *Session) tokenIsLong() bool {
	x := s.extension()
	w := Whoami{Name: s.cfg.Name, Tags: s.cfg.Tags.String(), Ext: x}
	return len(x.Token) > 0 && len(AppendWhoami(nil, &w)) > maxWhoami
}

// agree takes what both ends offer.
func (s *Session) agree(x *Extension) error {
	theirs := Range{First: FirstOpaque - 1, Last: FirstOpaque - 1}
	if len(x.Opaques) == 2 {
		theirs = Range{First: x.Opaques[0], Last: x.Opaques[1], Step: s.cfg.Opaques.Step}
		if theirs.Overlaps(s.opaques) {
			return ErrOpaques
		}
	}
	if s.wouldShorten() {
		if theirs.Overlaps(shortRange) {
			return ErrOpaques
		}
		s.opaques, s.lastOpaque = shortRange, shortRange.Last
	}
	if s.agreed = s.cfg.Features & x.Features; s.agreed&FeatureErrors == 0 {
		s.agreed &^= FeatureCancel // whose answer is an error
	}
	s.setLimits(x)
	s.peerCredit, s.ourCredit = int64(x.Credit), int64(s.cfg.Credit)
	s.window, s.windowed = int64(x.Window), x.Window != 0
	s.grant, s.granting = int64(s.cfg.Window), s.cfg.Window != 0
	for _, o := range s.locals.slots {
		if o != nil && o.is(stream) {
			o.credit, o.grant = s.peerCredit, s.ourCredit
		}
	}
	for _, o := range s.remotes {
		if o.is(stream) {
			o.credit, o.grant = s.peerCredit, s.ourCredit
		}
	}
	return nil
}

// setLimits takes the limits of a whoami or of LIMITS.
func (s *Session) setLimits(x *Extension) {
	if x.MaxMessage != 0 {
		s.peerMessage = int(min(x.MaxMessage, math.MaxInt32))
		if s.agreed&FeatureFragments == 0 {
			s.peerMessage = min(s.peerMessage, s.peerBuffer)
		}
	}
	if x.Exchanges != 0 {
		s.ownLimit = int(min(x.Exchanges, uint64(s.cfg.Own)))
	}
	if x.Credit != 0 {
		s.peerCredit = int64(x.Credit)
	}
}

// AppendLimits tells the peer of other limits than those announced: the longest
// message, and how many exchanges it may have open. 0 leaves one as it is. The
// new ones are in force at once for what the peer learns of them; a peer that
// was quicker is refused, not cut off.
func (s *Session) AppendLimits(out []byte, maxMessage, exchanges int) ([]byte, error) {
	if s.agreed&FeatureLimits == 0 {
		return out, ErrNotAgreed
	}
	x := Extension{MaxMessage: uint64(max(maxMessage, 0)), Exchanges: uint64(max(exchanges, 0))}
	b, err := strict.enc.Marshal(&x)
	if err != nil {
		panic("BUG: encode limits: " + err.Error())
	}
	if exchanges > 0 {
		s.cfg.Exchanges = exchanges
	}
	if maxMessage > s.cfg.MaxMessage {
		s.cfg.MaxMessage = maxMessage
		s.cfg.MaxUnfinished = max(s.cfg.MaxUnfinished, maxMessage)
	}
	s.scratch = append(s.scratch[:0], b...)
	return s.control(out, IDLimits), nil
}
