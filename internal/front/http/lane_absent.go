package httpfront

import (
	"bytes"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// The 404 of a document that is not there, in parts: between them stand the
// base path, the name of the document (twice) and the path of the request.
const (
	absentType     = `{"type":"`
	absentDetail   = `/-/problems/not-found","title":"Not Found","status":404,"detail":"`
	absentInstance = ` is not there","instance":"`
	absentMessage  = `","code":"HR404","message":"`
	absentEnd      = ` is not there","details":null,"hint":null}` + "\n"
)

// absent appends the answer to a request for a row of which memory knew, at the
// moment at, that there is none. It is the full road's to the last byte of the
// body, and costs no more than a hit: whoever asks for many keys that nobody
// has must not get more of a server than others.
//
// The full road has the answer when memory does not know, and when the path
// would look otherwise in the answer than in the request.
func (s *scope) absent(
	r *http1.Request, res *laneResource, at *resource.Moment, out []byte, closing bool,
) ([]byte, place) {
	base := s.live.BasePath
	if at == nil || r.IfNoneMatch != nil || len(r.Path) > maxAbsentPath {
		return out, inDatabase
	}
	name := r.Path[len(base)+1:]
	if !isPlain(r.Path) || bytes.Count(name, []byte{','}) != len(res.KeyType())-1 {
		return out, inDatabase
	}
	res.tally.AddAbsent()
	s.touch(res)
	out = http1.AppendStatus(out, 404)
	out = r.AppendConnection(out, closing)
	out = s.appendBlock(out, at, !res.public)
	out = appendRequestID(out, r.RequestID)
	out = append(out, "Content-Type: application/problem+json\r\n"...)
	out = http1.AppendEnd(http1.AppendLength(out, len(absentType)+len(base)+len(absentDetail)+
		2*len(name)+len(absentInstance)+len(r.Path)+len(absentMessage)+len(absentEnd)))
	if r.Head {
		return out, inMemory
	}
	out = append(append(append(out, absentType...), base...), absentDetail...)
	out = append(append(append(out, name...), absentInstance...), r.Path...)
	return append(append(append(out, absentMessage...), name...), absentEnd...), inMemory
}

// maxAbsentPath is how long a path may be that the answer repeats as it is.
const maxAbsentPath = 512

// isPlain reports whether neither DocumentPath nor JSON writes anything in path
// otherwise: letters, digits, and what is left of the other characters. A comma
// is plain between the columns of a key, and nowhere else.
func isPlain(path []byte) bool {
	for _, b := range path {
		if !plainBytes[b] {
			return false
		}
	}
	return true
}

var plainBytes = func() (is [256]bool) {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" +
		"-_.~$+=:@/,"
	for _, b := range []byte(plain) {
		is[b] = true
	}
	return is
}()
