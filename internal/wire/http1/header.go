package http1

import (
	"bytes"
	"encoding/binary"
)

// header reads one header line without its end. It reports false if the line
// is broken, which includes a folded one: it begins with a blank.
func (r *Request) header(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return false
	}
	value := trim(line[colon+1:])
	if hasControl(value) {
		return false
	}
	name := line[:colon]
	switch k := classify(name); k {
	case host:
		r.Host = value
		return once(&r.hosts)
	case accept:
		r.keep(&r.Accept, value)
	case acceptEncoding:
		r.keep(&r.AcceptEncoding, value)
	case ifNoneMatch:
		r.keep(&r.IfNoneMatch, value)
	case authorization:
		r.keep(&r.Authorization, value)
	case cacheControl:
		r.keep(&r.CacheControl, value)
	case ifMatch:
		r.keep(&r.IfMatch, value)
	case minPosition:
		r.keep(&r.MinPosition, value)
	case requestID:
		r.keep(&r.RequestID, value)
	case prefer:
		r.keep(&r.Prefer, value)
	case ranges:
		r.keep(&r.Range, value)
	case ifRange:
		r.keep(&r.IfRange, value)
	case profile:
		r.keep(&r.Profile, value)
	case contentType:
		r.keepOfBody(&r.ContentType, value)
	case contentEncoding:
		r.keepOfBody(&r.ContentEncoding, value)
	case connection:
		r.connection(value)
	case contentLength:
		var ok bool
		r.length, ok = parseLength(value)
		return ok && once(&r.lengths)
	case transferEncoding:
		return isName(value, "chunked") && once(&r.chunked)
	case expect:
		return isName(value, "100-continue") && once(&r.expect)
	case unknown:
		return allToken(name)
	default:
		r.mark(k, value)
	}
	return true
}

// mark notes that there is a header whose value decides nothing about framing, or is for others
// to read.
func (r *Request) mark(k kind, value []byte) {
	switch k {
	case override:
		r.other = true
	case ofWrite:
		r.bodies = true
	case upgrade:
		r.upgrade = true
	case fetchSite:
		r.page = true
	case origin:
		r.page = true
		if r.Origin != nil {
			value = twoOrigins
		}
		r.Origin = value
	case askedMethod:
		r.unclear = !once(&r.asks) || r.unclear
	case askedHeaders:
		r.unclear = !once(&r.names) || r.unclear
	case lastEventID:
		r.LastEventID = value
	case apiKey:
		r.keep(&r.APIKey, value)
	}
}

// twoOrigins is the Origin of a request that names two: no page has it.
var twoOrigins = []byte(",")

// once sets seen and reports whether it was false: two lines of a header that
// decides about framing are one too many, even if they agree.
func once(seen *bool) bool {
	was := *seen
	*seen = true
	return !was
}

// keep stores the value of a header that may be sent in several lines, or
// empty. Few do either; for those that do, net/http knows what to make of it.
func (r *Request) keep(field *[]byte, value []byte) {
	if *field != nil || len(value) == 0 {
		r.other = true
	}
	*field = value
}

// keepOfBody is keep for a header that says what a body is. No code of ours reads it of a
// GET or HEAD.
func (r *Request) keepOfBody(field *[]byte, value []byte) {
	if *field != nil || len(value) == 0 {
		r.bodies = true
	}
	*field = value
}

// connection reads Connection. Lists, and names of headers to be dropped, are
// handed over.
func (r *Request) connection(value []byte) {
	switch {
	case r.connects:
		r.other = true
	case isName(value, "keep-alive"):
		r.persists = true
	case isName(value, "close"):
		r.Close = true
	default:
		r.other = true
	}
	r.connects = true
}

// parseLength reads a Content-Length: 1 to 18 digits, so that no sum with it
// overflows.
func parseLength(v []byte) (int64, bool) {
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// A kind is what the parser does with a header.
type kind uint8

const (
	// Passed over: no code of ours reads such a header of a GET or HEAD, so the answer
	// cannot depend on it. Balancers, meshes, tracers and SDKs add some to nearly
	// every request in production.
	unknown kind = iota

	// Answered: they change the answer in a way that the caller of Parse
	// knows. A handler behind Parse must read no other header.
	host
	accept
	acceptEncoding
	ifMatch
	ifNoneMatch
	authorization
	apiKey
	connection
	cacheControl
	minPosition
	requestID
	prefer
	ranges
	ifRange
	profile
	origin // as fetchSite besides
	lastEventID

	// Of an OPTIONS by which a browser asks whether a page may send something: see Preflight.
	askedMethod
	askedHeaders

	// Handed over: it names another method than the request line.
	override

	// Of a request that changes something: what its body is, and what is for a complete
	// implementation to look at: that a page in a browser may have sent it, a digest of the
	// body, a condition by a date.
	contentType
	contentEncoding
	fetchSite
	ofWrite

	// Framing: they say where the message ends, or what comes after it.
	contentLength
	transferEncoding
	expect
	upgrade
)

// classify returns the kind of a header by its name, in any case.
func classify(name []byte) kind {
	switch len(name) {
	case 4:
		return either(name, "host", host)
	case 5:
		return either(name, "range", ranges)
	case 6:
		return classify6(name)
	case 7:
		return either(name, "upgrade", upgrade)
	case 8:
		return classify8(name)
	case 10:
		return either(name, "connection", connection)
	case 11:
		return classify11(name)
	case 12:
		return classify12(name)
	case 13:
		return classify13(name)
	case 14:
		return classify14(name)
	case 15, 16, 17, 19, 22, 29, 30:
		return classifyLong(name)
	}
	return unknown
}

// classify6 is classify for names of six bytes.
func classify6(name []byte) kind {
	switch name[0] | 0x20 {
	case 'a':
		if name[1]|0x20 == 'p' {
			return either(name, "apikey", apiKey)
		}
		return either(name, "accept", accept)
	case 'p':
		return either(name, "prefer", prefer)
	case 'o':
		return either(name, "origin", origin)
	case 'd':
		return either(name, "digest", ofWrite)
	}
	return either(name, "expect", expect)
}

// classify8 is classify for names of eight bytes.
func classify8(name []byte) kind {
	if name[3]|0x20 == 'r' {
		return either(name, "if-range", ifRange)
	}
	return either(name, "if-match", ifMatch)
}

// classify11 is classify for names of eleven bytes.
func classify11(name []byte) kind {
	if name[0]|0x20 == 'r' {
		return either(name, "repr-digest", ofWrite)
	}
	return either(name, "content-md5", ofWrite)
}

// classify12 is classify for names of twelve bytes.
func classify12(name []byte) kind {
	if name[0]|0x20 == 'c' {
		return either(name, "content-type", contentType)
	}
	return either(name, "x-request-id", requestID)
}

// classify14 is classify for names of fourteen bytes.
func classify14(name []byte) kind {
	switch name[0] | 0x20 {
	case 's':
		return either(name, "sec-fetch-site", fetchSite)
	case 'a':
		return either(name, "accept-profile", profile)
	}
	if name[8]|0x20 == 'd' {
		return either(name, "content-digest", ofWrite)
	}
	return either(name, "content-length", contentLength)
}

// classify13 is classify for names of thirteen bytes.
func classify13(name []byte) kind {
	switch name[0] | 0x20 {
	case 'i':
		return either(name, "if-none-match", ifNoneMatch)
	case 'c':
		return either(name, "cache-control", cacheControl)
	case 'x':
		return either(name, "x-http-method", override)
	case 'l':
		return either(name, "last-event-id", lastEventID)
	}
	return either(name, "authorization", authorization)
}

// classifyLong is classify for the longest names.
func classifyLong(name []byte) kind {
	switch {
	case isName(name, "accept-encoding"):
		return acceptEncoding
	case isName(name, "transfer-encoding"):
		return transferEncoding
	case isName(name, "content-encoding"):
		return contentEncoding
	case isName(name, "hotrow-min-position"):
		return minPosition
	case isName(name, "content-profile"):
		return profile
	case isName(name, "if-unmodified-since"):
		return ofWrite
	case isName(name, "x-http-method-override"), isName(name, "x-method-override"):
		return override
	case isName(name, "access-control-request-method"):
		return askedMethod
	case isName(name, "access-control-request-headers"):
		return askedHeaders
	}
	return unknown
}

// either returns k if name is want, in lower case.
func either(name []byte, want string, k kind) kind {
	if isName(name, want) {
		return k
	}
	return unknown
}

// isName reports whether b is want, which is in lower case, in any case.
func isName(b []byte, want string) bool {
	if len(b) != len(want) {
		return false
	}
	for i := range len(want) {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != want[i] {
			return false
		}
	}
	return true
}

// trim removes blanks around a value.
func trim(v []byte) []byte {
	for len(v) > 0 && (v[0] == ' ' || v[0] == '\t') {
		v = v[1:]
	}
	for len(v) > 0 && (v[len(v)-1] == ' ' || v[len(v)-1] == '\t') {
		v = v[:len(v)-1]
	}
	return v
}

// hasControl reports whether a header's value has a control byte other than a
// tab. It looks at eight bytes at a time (Bit Twiddling Hacks, "Determine if a
// word has a byte less than n"): values are long, and few have any.
func hasControl(v []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(v); i += 8 {
		x := binary.LittleEndian.Uint64(v[i:])
		del := x ^ 0x7f*ones
		if ((x-0x20*ones)&^x|(del-ones)&^del)&high != 0 {
			break
		}
	}
	for _, c := range v[i:] {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}
