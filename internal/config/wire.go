package config

import (
	"strings"
	"time"
)

// Wire is the listener of the binary protocol.
type Wire struct {
	Listen Listener `yaml:"listen" apply:"restart"`
	TLS    bool     `yaml:"tls" apply:"restart"` // with the certificate of http.tls
	Perf   bool     `yaml:"perf" apply:"reload"` // answer the messages of gofast's perf
}

// defaultWire returns the wire section of an empty file.
func defaultWire() Wire {
	return Wire{Listen: Listener{Network: "tcp", Address: "127.0.0.1:9900"}}
}

// The bounds of a message of the wire protocol. A peer may announce less than
// 64 KiB, and a frame has no more than 64 MiB.
const (
	leastMessage = 64 << 10
	mostMessage  = 64 << 20
)

// MaxMessage returns the longest message that is accepted by the wire protocol, in
// bytes: what a body over HTTP may have.
func (c *Config) MaxMessage() int {
	return int(min(max(c.HTTP.MaxBody, leastMessage), mostMessage))
}

// slowest is how many bytes of a body must arrive in a minute.
const slowest = 16 << 20

// ReadTimeout returns how long a request may take to arrive: a minute, and for larger
// bodies a minute for each 16 MiB. A client that sends its head slowly is bounded by 5 s
// before.
func (h *HTTP) ReadTimeout() time.Duration {
	return time.Duration(max(1, (int64(h.MaxBody)+slowest-1)/slowest)) * time.Minute
}

// wire checks the wire section.
func (v *validator) wire() {
	if v.c.Wire.TLS && !v.c.HTTP.TLS.On() {
		v.addf("wire.tls", "needs the certificate of http.tls: set %s and %s", pathCert, pathKey)
	}
}

// listeners keeps two listeners from wanting one address.
func (v *validator) listeners() {
	seen := make(map[Listener]string)
	for _, e := range v.c.listening() {
		if e.l.Off() || strings.HasSuffix(e.l.Address, ":0") {
			continue
		}
		if first, taken := seen[e.l]; taken {
			v.addf(e.path, "is the address of %s, too: %s", first, e.l)
			continue
		}
		seen[e.l] = e.path
	}
}

// A listening is a listener and the key that it is configured by.
type listening struct {
	path string
	l    Listener
}

// listening returns every listener.
func (c *Config) listening() []listening {
	return []listening{{"http.listen", c.HTTP.Listen}, {"wire.listen", c.Wire.Listen},
		{"resp.listen", c.RESP.Listen},
		{"memcache.listen", c.Memcache.Listen},
		{"links.listen", c.Links.Listen}, {"ops.listen", c.Ops.Listen}}
}
