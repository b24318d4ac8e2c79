package main

import (
	"crypto/tls"
	"net"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front/kv"
	memcachefront "github.com/hotrow/hotrow/internal/front/memcache"
	"github.com/hotrow/hotrow/internal/ops"
)

// A memcacheFront speaks the protocol of memcached.
type memcacheFront struct {
	*memcachefront.Front
	s *server
}

func openMemcache(s *server) protocolFront {
	return memcacheFront{memcachefront.New(s.memcacheOptions(s.cfg())), s}
}

func (m memcacheFront) serve(l net.Listener, secure *tls.Config) (protocolSite, error) {
	return m.Serve(l, kv.Listen{TLS: secure, Log: m.s.log})
}

func (m memcacheFront) configure(cfg *config.Config) { m.Configure(m.s.memcacheOptions(cfg)) }

// memcacheOptions returns what the front goes by.
func (s *server) memcacheOptions(cfg *config.Config) memcachefront.Options {
	version, _ := buildVersion()
	return memcachefront.Options{
		Options:      s.keyValueOptions(cfg),
		MaxValue:     int(cfg.HTTP.MaxBody),
		RefuseExpiry: cfg.KV.Expire == "refuse",
		Version:      version, Memory: s.memoryUsed,
	}
}

// memoryUsed returns what the cache in memory holds, and may hold.
func (s *server) memoryUsed() (keys, bytes, most int64) {
	st := s.memory.Stats()
	return int64(st.Entries), int64(st.Bytes), int64(st.MaxBytes)
}

func (m memcacheFront) addTo(snap *ops.Snapshot) {
	st := m.Stats()
	snap.Memcache = &ops.Memcache{
		Open: st.Open, Rejected: st.Rejected, Broken: st.Broken, Denied: st.Denied,
		Commands: st.Commands, Batches: st.Batches, Unknown: st.Unknown, NoKey: st.NoKey,
	}
	addRequests(snap, "memcache", st.Resources)
}
