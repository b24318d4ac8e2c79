package config

import "strings"

// RESP is the listener of the protocol of Redis.
type RESP struct {
	Listen      Listener `yaml:"listen" apply:"restart"`
	TLS         bool     `yaml:"tls" apply:"restart"` // with the certificate of http.tls
	MaxClients  int      `yaml:"max_clients" range:"1..1000000" apply:"reload"`
	IdleTimeout Duration `yaml:"idle_timeout" range:"0s..24h" apply:"restart"` // 0s: for ever
	OnStale     string   `yaml:"on_stale" oneof:"answer error" apply:"reload"`

	// TrackingMaxKeys bounds the table of who has read which key.
	TrackingMaxKeys int `yaml:"tracking_max_keys" range:"1..1000000000" apply:"reload"`
}

// Memcache is the listener of the protocol of memcached.
type Memcache struct {
	Listen      Listener `yaml:"listen" apply:"restart"`
	TLS         bool     `yaml:"tls" apply:"restart"` // with the certificate of http.tls
	MaxClients  int      `yaml:"max_clients" range:"1..1000000" apply:"reload"`
	IdleTimeout Duration `yaml:"idle_timeout" range:"0s..24h" apply:"restart"` // 0s: for ever
	OnError     string   `yaml:"on_error" oneof:"error miss" apply:"reload"`
}

// KV says what keys mean to the key-value protocols.
type KV struct {
	Prefix    string `yaml:"prefix" empty:"plain" apply:"reload"`
	Separator string `yaml:"separator" apply:"reload"`
	Default   string `yaml:"default" empty:"plain" apply:"reload"` // of keys that name no resource
	Unknown   string `yaml:"unknown" oneof:"miss error" apply:"reload"`

	// Expire says what becomes of a write with a time: as is usual for the protocol (Redis
	// refuses, memcached ignores), or one of these for both.
	Expire string `yaml:"expire" oneof:"usual refuse ignore" apply:"reload"`
}

func defaultRESP() RESP {
	return RESP{MaxClients: 10_000, OnStale: "answer", TrackingMaxKeys: 1_000_000}
}

func defaultMemcache() Memcache {
	return Memcache{MaxClients: 10_000, OnError: "error"}
}

func defaultKV() KV { return KV{Separator: ":", Unknown: "miss", Expire: "usual"} }

// keyValue checks the sections of the key-value protocols.
func (v *validator) keyValue() {
	if v.c.RESP.TLS && !v.c.HTTP.TLS.On() {
		v.addf("resp.tls", "needs the certificate of http.tls: set %s and %s", pathCert, pathKey)
	}
	if v.c.Memcache.TLS && !v.c.HTTP.TLS.On() {
		v.addf("memcache.tls", "needs the certificate of http.tls: set %s and %s",
			pathCert, pathKey)
	}
	k := &v.c.KV
	if n := len(k.Separator); n < 1 || n > 4 {
		v.addf("kv.separator", "has 1 to 4 bytes, found %q", k.Separator)
		return
	}
	if !strings.ContainsFunc(k.Separator, func(r rune) bool { return r > ' ' && r != 0x7f }) {
		v.addf("kv.separator", "is a blank: keys of lines of text cannot have it")
	}
	_, served := v.c.Resources[k.Default]
	if k.Default != "" && !served && len(v.c.Resources) > 0 {
		v.addf("kv.default", "there is no resource %q", k.Default)
	}
}
