package gofast

import "time"

// Tick looks at the time: it appends a heartbeat when one is due, and returns a
// ProtocolError when the peer has not said who it is in time, or is dead. Call
// it about once a second.
func (s *Session) Tick(now time.Time, out []byte) ([]byte, error) {
	if s.heard {
		s.heard, s.heardAt = false, now
	}
	s.noteBeats(now)
	if !s.ready {
		if now.Sub(s.opened) >= s.cfg.Handshake {
			return out, ErrHandshake
		}
		return out, nil
	}
	if now.Sub(s.heardAt) > s.peerTimeout() {
		return out, ErrSilent
	}
	if s.cfg.Heartbeat > 0 && now.Sub(s.beatAt) >= s.cfg.Heartbeat {
		s.beatAt = now
		s.scratch = appendHeartbeatData(s.scratch[:0], s.beats)
		s.beats++
		out = s.control(out, IDHeartbeat)
	}
	return out, nil
}

// noteBeats learns how often the peer sends heartbeats, as far as ticks tell.
func (s *Session) noteBeats(now time.Time) {
	if s.stats.RxBeats == s.seenBeats {
		return
	}
	if s.seenBeats > 0 {
		gap := now.Sub(s.peerBeatAt) / time.Duration(s.stats.RxBeats-s.seenBeats)
		s.peerBeatGap = max(s.peerBeatGap, gap)
	}
	s.seenBeats, s.peerBeatAt = s.stats.RxBeats, now
}

// forever is longer than any connection lasts.
const forever = 1 << 62

// peerTimeout returns how long the peer may be silent. A negotiated one sends
// heartbeats as often as we do; an old one as often as it has, if it does.
func (s *Session) peerTimeout() time.Duration {
	missed := time.Duration(s.cfg.Missed)
	switch {
	case s.cfg.Heartbeat <= 0:
		return forever
	case !s.Legacy():
		return missed * s.cfg.Heartbeat
	case s.seenBeats > 1:
		return missed * max(s.peerBeatGap, s.cfg.Heartbeat)
	}
	return forever
}
