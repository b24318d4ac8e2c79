package eventloop

// firstProtocol returns the protocol of a new connection, before a handshake.
func (s *Server) firstProtocol() Protocol {
	if s.cfg.Preface != "" && s.cfg.TLS == nil && s.cfg.HTTP2 != nil {
		return sniffer{}
	}
	return s.cfg.Proto
}

// speakHTTP2 makes Config.HTTP2 the protocol of a connection.
func (c *Conn) speakHTTP2() {
	c.proto = c.srv.cfg.HTTP2
	c.http2.Store(true)
}

// A sniffer is the protocol of a connection until its first bytes say which one it
// speaks: Config.HTTP2 if they are Config.Preface, else Config.Proto.
type sniffer struct{}

// Open sends nothing: both protocols let the client speak first.
func (sniffer) Open(_ *Conn, out []byte) []byte { return out }

// Tick does nothing.
func (sniffer) Tick(_ *Conn, out []byte) ([]byte, Next) { return out, More }

// Step chooses, and goes on with what was chosen. It does not ask for the whole preface
// by Want: a request of HTTP/1.1 that begins like it may be shorter.
func (sniffer) Step(c *Conn, in, out []byte) (int, []byte, Next) {
	cfg := &c.srv.cfg
	switch n := min(len(in), len(cfg.Preface)); {
	case string(in[:n]) != cfg.Preface[:n]:
		c.proto = cfg.Proto
	case n < len(cfg.Preface):
		return 0, out, More
	default:
		c.speakHTTP2()
	}
	return c.proto.Step(c, in, c.proto.Open(c, out))
}
