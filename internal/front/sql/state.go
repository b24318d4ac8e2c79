package sqlfront

import (
	"bytes"
	"encoding/binary"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/sqlcache"
)

// The state of a session is asked for by a group of hotrow's own, in front of one of the client's.
// It names what it prepares, so that the client's statement without a name stays, and is sent when
// the session is in no transaction and nothing is under way. The client does not hear its answer.

// stateName begins no name of a client's.
const stateName = "_hotrow_state"

// askState is that group.
var askState = question(sqlcache.FingerprintSQL)

// question returns the group that asks a question, whose answer is in binary format.
func question(sql string) (b []byte) {
	message := func(kind byte, parts ...string) {
		var at int
		b, at = beginMessage(b, kind)
		for _, p := range parts {
			b = append(b, p...)
		}
		b = endMessage(b, at)
	}
	message(msgParse, stateName, "\x00", sql, "\x00", "\x00\x00")
	message(msgBind, stateName, "\x00", stateName, "\x00", "\x00\x00", "\x00\x00",
		"\x00\x01\x00\x01")
	message(msgExecute, stateName, "\x00", "\x00\x00\x00\x00")
	message(msgClose, "S", stateName, "\x00")
	message(msgSync)
	return b
}

// A swallower takes the answer to a question out of what the server sends.
type swallower struct {
	active bool
	framer framer
	row    []byte // the DataRow
	ended  bool   // its end has come
	passes bool   // the message is for the client
	last   []byte // the server's last words, which are as well
	state  bool   // the question is askState
	shows  bool   // the question is askRole
	one    bool   // one message answers it, or an error that is the client's
	failed []byte // the error that answers the question
	status byte   // of the session at its end
}

// want and message make a swallower a listener of its framer.
func (s *swallower) want(kind byte, size uint32) uint32 {
	if (kind == msgDataRow || kind == msgError) && size <= front.SQLState {
		return size
	}
	if kind == msgReady {
		return 1
	}
	return 0
}

func (s *swallower) message(kind byte, body []byte) {
	if s.one && !isAside(kind) {
		s.ended = true
		return
	}
	switch kind {
	case msgDataRow:
		s.row = append(s.row[:0], body...)
	case msgReady:
		s.ended = true
		if len(body) > 0 {
			s.status = body[0]
		}
	case msgError:
		if len(body) > 0 {
			s.failed = append(append(s.failed[:0], s.framer.head[:]...), body...)
		}
		if isFatal(body) { // the session ends, and not because of what was asked
			s.last = append(append(s.last[:0], s.framer.head[:]...), body...)
		}
	}
}

// take takes from the beginning of p what belongs to the answer. It appends what does not to
// pieces, and returns what is behind the answer.
func (s *swallower) take(p []byte, pieces [][]byte) (rest []byte, all [][]byte) {
	for len(p) > 0 && !s.ended && !s.framer.broken {
		if s.framer.have == 0 {
			if s.passes = isAside(p[0]); s.one && p[0] == msgError {
				s.ended = true
				break
			}
		}
		n := s.framer.one(p, s)
		if s.passes {
			pieces = append(pieces, p[:n])
		}
		if len(s.last) > 0 {
			pieces, s.last = append(pieces, s.last), nil
		}
		p = p[n:]
	}
	return p, pieces
}

// isAside reports whether a message of the server may come at any time.
func isAside(kind byte) bool {
	return kind == msgNotice || kind == msgNotification || kind == msgStatus
}

// isFatal reports whether an error ends its session.
func isFatal(body []byte) bool {
	return bytes.Contains(body, []byte("\x00VFATAL\x00")) ||
		bytes.Contains(body, []byte("\x00VPANIC\x00"))
}

// processOf returns the process at the server that a key names; 0: none.
func processOf(key []byte) uint32 {
	if len(key) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(key)
}
