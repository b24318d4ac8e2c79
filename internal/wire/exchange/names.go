package exchange

import (
	"bytes"
	"strings"
)

// methods are the methods that travel as numbers: their place here. The order is
// a part of the protocol.
var methods = bytes.Fields([]byte("GET HEAD POST PUT DELETE PATCH OPTIONS TRACE CONNECT"))

// common are the names of fields that travel as numbers. A name's number is
// twice its place here, and one more in lower case. The first twelve take a byte,
// the others two. The order is a part of the protocol.
const common = `Accept Accept-Encoding User-Agent Content-Type Content-Length Date
X-Chocon-Id Via Authorization Cookie Cache-Control ETag
Accept-Charset Accept-Language Accept-Ranges Access-Control-Allow-Origin Age Allow
Alt-Svc Cache-Status Content-Disposition Content-Encoding Content-Language
Content-Location Content-Range Content-Security-Policy Expect Expires Forwarded From
Idempotency-Key If-Match If-Modified-Since If-None-Match If-Range If-Unmodified-Since
Last-Modified Link Location Max-Forwards Origin Pragma Range Referer Refresh Retry-After
Server Set-Cookie Strict-Transport-Security TE Trailer Upgrade Vary Warning
WWW-Authenticate X-Content-Type-Options X-Forwarded-For X-Forwarded-Host
X-Forwarded-Proto X-Request-Id Traceparent`

// names are the names by number, numbers the numbers by name. Nobody writes to
// them.
var names, numbers = makeNames()

func makeNames() ([][]byte, map[string]int) {
	list := strings.Fields(common)
	byNumber := make([][]byte, 0, 2*len(list))
	byName := make(map[string]int, 2*len(list))
	for _, name := range list {
		for _, spelling := range [...]string{name, strings.ToLower(name)} {
			byName[spelling] = len(byNumber)
			byNumber = append(byNumber, []byte(spelling))
		}
	}
	return byNumber, byName
}

// hop are the fields that an exchange does not carry: they are for one hop of
// HTTP/1, and the two ends make their own.
var hop = [...]string{
	"host", "connection", "transfer-encoding", "keep-alive", "proxy-connection",
	"proxy-authenticate", "proxy-authorization",
}

// Hop reports whether a field is one that is not carried.
func Hop(name []byte) bool {
	for _, h := range hop {
		if len(name) == len(h) && bytes.EqualFold(name, []byte(h)) {
			return true
		}
	}
	return false
}
