package front

import (
	"crypto/tls"
	"sync/atomic"
)

// A Certificate is what listeners show, whatever they speak. It may be replaced while they
// serve: connections that are open stay, new ones see the new one.
type Certificate struct {
	live atomic.Pointer[tls.Config]
}

// Set makes cert the certificate, and oldest the oldest version of TLS that is
// spoken. Cipher suites are those that package crypto/tls thinks safe.
func (c *Certificate) Set(cert *tls.Certificate, oldest uint16) {
	c.live.Store(&tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: oldest})
}

// Leaf returns the certificate that is shown now, in DER; nil: there is none.
func (c *Certificate) Leaf() []byte {
	live := c.live.Load()
	if live == nil {
		return nil
	}
	return live.Certificates[0].Certificate[0]
}

// Config returns the configuration of a listener that shows the certificate, which was
// set, to peers that agree on one of protocols in the handshake (RFC 7301); without any,
// nothing is agreed on. The keys of session tickets are the listener's own, and so are
// good for longer than a certificate.
func (c *Certificate) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			live := c.live.Load().Clone()
			live.NextProtos = protocols
			return live, nil
		},
	}
}
