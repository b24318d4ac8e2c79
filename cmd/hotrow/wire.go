package main

import (
	"context"
	"crypto/rand"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front"
	wirefront "github.com/hotrow/hotrow/internal/front/wire"
	"github.com/hotrow/hotrow/internal/ops"
)

// A wireServer is what serves the wire protocol. Its fields are nil when
// wire.listen is off.
type wireServer struct {
	front *wirefront.Front
	site  *wirefront.Site
}

// serveWire starts to serve the wire protocol.
func (s *server) serveWire() error {
	if s.listeners["wire"] == nil {
		return nil
	}
	cfg := s.cfg()
	s.wire.front = wirefront.New(s.wireOptions(cfg))
	listen := wirefront.Listen{Log: s.log}
	if cfg.Wire.TLS {
		listen.TLS = s.cert.Config(wirefront.ALPN)
	}
	var err error
	s.wire.site, err = s.wire.front.Serve(s.listeners["wire"], listen)
	return err
}

// wireOptions returns what the front goes by.
func (s *server) wireOptions(cfg *config.Config) wirefront.Options {
	version, _ := buildVersion()
	return wirefront.Options{
		Resources: s.set, Starting: s.starting, HTTP: s.front,
		Auth: s.tokens.Principal, Issued: s.tokens.Issued, Open: s.cmd.Open,
		MaxMessage: cfg.MaxMessage(),
		Perf:       cfg.Wire.Perf, Server: "hotrow " + version, Instance: rand.Text(), Log: s.log,
		Access: s.access, Unsent: s.unsent,
	}
}

// configure has cfg count for the next message.
func (w *wireServer) configure(s *server, cfg *config.Config) {
	if w.front != nil {
		w.front.Configure(s.wireOptions(cfg))
	}
}

// shutdown ends the connections gently.
func (w *wireServer) shutdown(ctx context.Context) error {
	if w.site == nil {
		return nil
	}
	return w.site.Shutdown(ctx)
}

// close ends what is left.
func (w *wireServer) close() {
	if w.site != nil {
		w.site.Close()
	}
	if w.front != nil {
		w.front.Close()
	}
}

// gofast gives the operator's port what gofast's tools ask for.
func (w *wireServer) gofast(o *ops.Options) {
	if w.front != nil {
		o.Transports, o.Transport = w.front.Transports, w.front.Transport
	}
}

// addTo adds what is counted to a snapshot.
func (w *wireServer) addTo(snap *ops.Snapshot) {
	if w.front == nil {
		return
	}
	st := w.front.Stats()
	snap.Wire = &ops.Wire{
		Open: st.Open, FramesIn: st.Wire.Rx, FramesOut: st.Wire.Tx, BytesIn: st.Wire.RxByte,
		BytesOut: st.Wire.TxByte, Broken: st.Broken, Batches: st.Batches,
		SlowWatchersLost: st.Slow, Watchers: st.Watchers, Events: st.Events,
	}
	for _, r := range st.Resources {
		codes := make(map[string]uint64, len(r.Codes))
		for code, n := range r.Codes {
			codes[code.String()] += n
		}
		snap.Requests = append(snap.Requests, ops.Requests{
			Proto: "wire", Resource: r.Resource, Codes: codes,
			Duration: ops.Histogram{
				Bounds: front.Buckets[:], Counts: r.Buckets, Sum: r.Seconds,
			},
		})
	}
}
