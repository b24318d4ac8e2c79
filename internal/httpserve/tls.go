package httpserve

import (
	"crypto/tls"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A Certificate is what HTTPS listeners show. It may be replaced while they
// serve: connections that are open stay, new ones see the new one.
type Certificate struct {
	live atomic.Pointer[tls.Config]
}

// Set makes cert the certificate, and oldest the oldest version of TLS that is
// spoken. Cipher suites are those that package crypto/tls thinks safe.
func (c *Certificate) Set(cert *tls.Certificate, oldest uint16) {
	c.live.Store(&tls.Config{
		Certificates: []tls.Certificate{*cert},
		MinVersion:   oldest,
		NextProtos:   []string{"h2", "http/1.1"},
	})
}

// Live returns the configuration of now, for listeners of other protocols. It
// must not be changed.
func (c *Certificate) Live() *tls.Config { return c.live.Load() }

// Config returns the configuration of an HTTPS listener. The keys of session tickets
// are its own, and so are good for longer than a certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return c.live.Load(), nil
		},
	}
}

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
