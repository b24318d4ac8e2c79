package main

import (
	"crypto/tls"
	"net"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front/kv"
	respfront "github.com/hotrow/hotrow/internal/front/resp"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/row"
)

// A respFront speaks the protocol of Redis.
type respFront struct {
	*respfront.Front
	s *server
}

func openRESP(s *server) protocolFront {
	return respFront{respfront.New(s.respOptions(s.cfg())), s}
}

func (r respFront) serve(l net.Listener, secure *tls.Config) (protocolSite, error) {
	return r.Serve(l, kv.Listen{TLS: secure, Log: r.s.log})
}

func (r respFront) configure(cfg *config.Config) { r.Configure(r.s.respOptions(cfg)) }

// keyValueOptions returns what the key-value fronts go by.
func (s *server) keyValueOptions(cfg *config.Config) kv.Options {
	return kv.Options{
		Resources: s.set, Starting: s.starting, Auth: s.tokens.Principal, Issued: s.tokens.Issued,
		Tokens: func() bool { return s.tokens.Len() > 0 }, Open: s.cmd.Open,
		MaxClients: cfg.KV.MaxClients,
		Prefix:     cfg.KV.Prefix, Separator: cfg.KV.Separator, Default: cfg.KV.Default,
		Names: keyNames(cfg), Queries: keyQueries(cfg), Format: keyFormats[cfg.KV.Format],
		StaleAllowed: cfg.KV.Stale == "allow", Unsent: s.unsent, Access: s.access, Log: s.log,
	}
}

// keyFormats are the formats of kv.format.
var keyFormats = map[string]row.Format{
	"json": row.FormatJSON, "msgpack": row.FormatMsgPack, "cbor": row.FormatCBOR,
}

// keyNames returns the names that keys have for resources, in place of their own.
func keyNames(cfg *config.Config) map[string]string {
	all := make(map[string]string)
	for name, r := range cfg.Resources {
		if r.KV.Name != "" {
			all[name] = r.KV.Name
		}
	}
	return all
}

// keyQueries returns the names of keys that ask for lists.
func keyQueries(cfg *config.Config) map[string]*kv.Query {
	all := make(map[string]*kv.Query, len(cfg.KV.Queries))
	for name, path := range cfg.KV.Queries {
		q := new(kv.Query)
		q.Resource, q.Before, q.After, _ = path.Parts() // it was checked
		all[name] = q
	}
	return all
}

// respOptions returns what the front goes by.
func (s *server) respOptions(cfg *config.Config) respfront.Options {
	version, _ := buildVersion()
	return respfront.Options{
		Options: s.keyValueOptions(cfg),
		MaxBody: int(cfg.HTTP.MaxBody), ExpireIgnored: cfg.KV.Expire == "ignore",
		Version: version, Memory: s.memoryUsed,
	}
}

func (r respFront) addTo(snap *ops.Snapshot) {
	st := r.Stats()
	snap.RESP = &ops.RESP{
		Open: st.Open, Rejected: st.Rejected, Broken: st.Broken, Denied: st.Denied,
		Commands: st.Commands, Batches: st.Batches, Unknown: st.Unknown, NoKey: st.NoKey,
		TrackingClients: st.Tracking.Clients, TrackingKeys: st.Tracking.Keys,
		Invalidations: st.Tracking.Invalidations, Flushes: st.Tracking.Flushes,
		Subscribers: st.Tracking.Subscribers, Late: st.Tracking.Late,
	}
	addRequests(snap, "resp", st.Resources)
}
