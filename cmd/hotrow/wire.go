package main

import (
	"crypto/rand"
	"crypto/tls"
	"net"

	"github.com/hotrow/hotrow/internal/config"
	wirefront "github.com/hotrow/hotrow/internal/front/wire"
	"github.com/hotrow/hotrow/internal/ops"
)

// A wireFront speaks the wire protocol.
type wireFront struct {
	*wirefront.Front
	s *server
}

func openWire(s *server) protocolFront {
	return wireFront{wirefront.New(s.wireOptions(s.cfg())), s}
}

func (w wireFront) serve(l net.Listener, secure *tls.Config) (protocolSite, error) {
	return w.Serve(l, wirefront.Listen{TLS: secure, Log: w.s.log})
}

func (w wireFront) configure(cfg *config.Config) { w.Configure(w.s.wireOptions(cfg)) }

// wireOptions returns what the front goes by.
func (s *server) wireOptions(cfg *config.Config) wirefront.Options {
	version, _ := buildVersion()
	return wirefront.Options{
		Resources: s.set, Starting: s.starting,
		Auth: s.tokens.Principal, Issued: s.tokens.Issued, Open: s.cmd.Open,
		MaxMessage: cfg.MaxMessage(),
		Perf:       cfg.Wire.Perf, Server: "hotrow " + version, Instance: rand.Text(), Log: s.log,
		Access: s.access, Unsent: s.unsent,
	}
}

func (w wireFront) addTo(snap *ops.Snapshot) {
	st := w.Stats()
	snap.Wire = &ops.Wire{
		Open: st.Open, FramesIn: st.Wire.Rx, FramesOut: st.Wire.Tx, BytesIn: st.Wire.RxByte,
		BytesOut: st.Wire.TxByte, Broken: st.Broken, Batches: st.Batches,
		SlowWatchersLost: st.Slow, Watchers: st.Watchers, Events: st.Events,
	}
	addRequests(snap, "wire", st.Resources)
}
