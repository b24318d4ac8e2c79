package main

import (
	"context"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front/kv"
	memcachefront "github.com/hotrow/hotrow/internal/front/memcache"
	"github.com/hotrow/hotrow/internal/ops"
)

// A memcacheServer is what serves the protocol of memcached. Its fields are nil when
// memcache.listen is off.
type memcacheServer struct {
	front *memcachefront.Front
	site  *kv.Site
}

// serveMemcache starts to serve the protocol of memcached.
func (s *server) serveMemcache() error {
	if s.listeners["memcache"] == nil {
		return nil
	}
	cfg := s.cfg()
	s.memcache.front = memcachefront.New(s.memcacheOptions(cfg))
	listen := kv.Listen{Log: s.log}
	if cfg.Memcache.TLS {
		listen.TLS = s.cert.Config()
	}
	var err error
	s.memcache.site, err = s.memcache.front.Serve(s.listeners["memcache"], listen)
	return err
}

// memcacheOptions returns what the front goes by.
func (s *server) memcacheOptions(cfg *config.Config) memcachefront.Options {
	version, _ := buildVersion()
	return memcachefront.Options{
		Options: s.keyValueOptions(cfg), MaxClients: cfg.KV.MaxClients,
		MaxValue: int(cfg.HTTP.MaxBody), ErrorMiss: cfg.Memcache.OnError == "miss",
		RefuseExpiry: cfg.KV.Expire == "refuse",
		Version:      version, Memory: s.memoryUsed,
	}
}

// memoryUsed returns what the cache in memory holds, and may hold.
func (s *server) memoryUsed() (keys, bytes, most int64) {
	st := s.memory.Stats()
	return int64(st.Entries), int64(st.Bytes), int64(st.MaxBytes)
}

// configure has cfg count for the next command.
func (m *memcacheServer) configure(s *server, cfg *config.Config) {
	if m.front != nil {
		m.front.Configure(s.memcacheOptions(cfg))
	}
}

// shutdown ends the connections gently.
func (m *memcacheServer) shutdown(ctx context.Context) error {
	if m.site == nil {
		return nil
	}
	return m.site.Shutdown(ctx)
}

// close ends what is left.
func (m *memcacheServer) close() {
	if m.site != nil {
		m.site.Close()
	}
	if m.front != nil {
		m.front.Close()
	}
}

// addTo adds what is counted to a snapshot.
func (m *memcacheServer) addTo(snap *ops.Snapshot) {
	if m.front == nil {
		return
	}
	st := m.front.Stats()
	snap.Memcache = &ops.Memcache{
		Open: st.Open, Rejected: st.Rejected, Broken: st.Broken, Denied: st.Denied,
		Commands: st.Commands, Batches: st.Batches, Unknown: st.Unknown, NoKey: st.NoKey,
	}
	snap.Requests = append(snap.Requests, keyValueRequests("memcache", st.Stats)...)
}
