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
	for _, l := range v.c.Listeners() {
		if l.Off() || strings.HasSuffix(l.Address, ":0") {
			continue
		}
		if first, taken := seen[l.Listener]; taken {
			v.addf(l.Name+".listen", "is the address of %s.listen, too: %s", first, l)
			continue
		}
		seen[l.Listener] = l.Name
	}
}

// A NamedListener is the listener of a section.
type NamedListener struct {
	Name string // of the section: "http"
	Listener
	TLS bool // is spoken
}

// Listeners returns every listener, in the order in which they are opened.
func (c *Config) Listeners() []NamedListener {
	return []NamedListener{{"http", c.HTTP.Listen, c.HTTP.TLS.On()},
		{"wire", c.Wire.Listen, c.Wire.TLS}, {"resp", c.RESP.Listen, c.RESP.TLS},
		{"memcache", c.Memcache.Listen, c.Memcache.TLS}, {"sql", c.SQL.Listen, c.SQL.TLS},
		{"links", c.Links.Listen, false}, {"ops", c.Ops.Listen, false}}
}
