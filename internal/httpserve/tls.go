package httpserve

import "github.com/hotrow/hotrow/internal/wire/http1"

// ALPN is what HTTP is called in a TLS handshake (RFC 7301).
var ALPN = []string{"h2", "http/1.1"}

// notTLS is what a peer is told that begins otherwise than with a handshake. To
// one that speaks HTTP/1 it is what net/http says.
func notTLS(begin [5]byte) []byte {
	switch string(begin[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "PATCH", "DELET":
		const text = "Client sent an HTTP request to an HTTPS server.\n"
		out := append(http1.AppendStatus(nil, 400), "Connection: close\r\n"+
			"Content-Type: text/plain; charset=utf-8\r\n"...)
		return append(http1.AppendEnd(http1.AppendLength(out, len(text))), text...)
	}
	return nil
}
