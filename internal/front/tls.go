package front

import "crypto/tls"

// TLS returns the configuration of a listener that shows what of returns for the
// configuration of now, to peers that agree on one of protocols in the handshake (RFC 7301);
// without any, nothing is agreed on.
func TLS(of func() *tls.Config, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := of().Clone()
			c.NextProtos = protocols
			return c, nil
		},
	}
}
