package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/proxy"
	"github.com/hotrow/hotrow/internal/supervisor"
)

// proxyCmd has the flags of chocon, and then ours.
type proxyCmd struct {
	Listen string `short:"l" default:"127.0.0.1" placeholder:"ADDR" help:"Address, or unix:PATH."`
	Port   int    `short:"p" default:"3000" help:"Port; 0: any that is free."`

	AccessLogDir        string `placeholder:"DIR" help:"Directory, stdout or none; \"\": stderr."`
	AccessLogRotate     int    `default:"30" help:"Files that are kept."`
	AccessLogRotateTime int    `default:"1440" help:"Minutes to a file."`
	AccessLogFormat     string `enum:"json,ltsv" default:"json" help:"json or ltsv."`
	PidFile             string `placeholder:"FILE" help:"Where the process's number goes."`

	KeepaliveConns  int `short:"c" default:"256" help:"Idle connections for an upstream address."`
	MaxConnsPerHost int `help:"Connections in use for an upstream; 0: no bound."`

	ReadTimeout      seconds `default:"30" help:"Without progress of a request, in seconds."`
	WriteTimeout     seconds `default:"90" help:"Without progress of a response, in seconds."`
	ProxyReadTimeout seconds `default:"60" help:"For an answer to begin, in seconds."`
	ShutdownTimeout  seconds `default:"1h" help:"For requests under way to end."`

	Upstream []string `placeholder:"URL" help:"All goes there: http(s)://, unix:, wire(+tls)://."`
	Stsize   int      `default:"1000" help:"Response times kept for the statistics."`
	Spfactor int      `default:"3" help:"One response time in so many is kept."`
	Show     bool     `short:"v" name:"version" help:"Print the version."`

	Allow        []string `placeholder:"HOST" help:"Upstreams that may be named: host[:port]."`
	AllowAddress []string `placeholder:"CIDR" help:"Addresses that are refused otherwise."`
	Suffix       []string `placeholder:"DOMAIN" help:"Domain that may follow .ccnproxy in a Host."`
	DenyPrivate  bool     `help:"Refuse upstreams in private networks."`
	Connect      bool     `help:"Tunnel CONNECT."`
	HTTP2        bool     `name:"http2" help:"Speak HTTP/2 with upstreams that choose it."`
	DropInterim  bool     `help:"Keep 1xx answers from clients."`
	Open         bool     `help:"Let other machines use the proxy although it takes any upstream."`

	Exit      bool   `help:"Be the far end: speak the wire protocol with proxies that relay here."`
	TLSCert   string `placeholder:"FILE" help:"Certificate of --exit, for wire+tls://."`
	TLSKey    string `placeholder:"FILE" help:"Its key."`
	TokenFile string `placeholder:"FILE" help:"Token for the far end; of --exit: those it takes."`
	WireConns int    `default:"2" help:"Connections to the far end of the wire."`
	Ops       string `placeholder:"ADDR" help:"Port that answers /metrics and /.api/ alone."`

	TraceEndpoint string `placeholder:"URL" help:"Collector of OpenTelemetry: http://HOST:4318."`
	TraceSample   uint32 `placeholder:"N" help:"Record one in N requests that belong to no trace."`
}

// seconds is a duration, in seconds where no unit is given.
type seconds time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *seconds) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseFloat(string(text), 64); err == nil {
		*s = seconds(n * float64(time.Second))
	} else {
		d, err := time.ParseDuration(string(text))
		if err != nil {
			return fmt.Errorf("%q: want seconds, or a number with a unit such as 1h", text)
		}
		*s = seconds(d)
	}
	if *s <= 0 {
		return fmt.Errorf("%q: must be more than 0", text)
	}
	return nil
}

// Run relays until the context ends.
func (c *proxyCmd) Run(p *program) error {
	if c.Show {
		return (&versionCmd{}).Run(p)
	}
	log := slog.New(slog.NewJSONHandler(p.stderr, nil))
	options, err := c.options(log)
	if err != nil {
		return usageError{err}
	}
	access, err := c.openAccess(p, log)
	if err != nil {
		return err
	}
	if access != nil {
		defer access.close()
		options.Access = proxy.Access(access.log)
	}
	// Before anybody can know that there is a process to hang up.
	stop := onHangup(func() { access.reopen() })
	defer stop()
	listeners, err := c.listen(p, log)
	if err != nil {
		return err
	}
	spans := config.Trace{Endpoint: c.TraceEndpoint, Sample: int(c.TraceSample)}
	if err := spans.Check(); err != nil {
		return usageError{fmt.Errorf("--trace-endpoint: %w", err)}
	}
	options.Trace = newTracer(spans, log)
	defer options.Trace.Close()
	s, err := proxy.New(options)
	if err != nil {
		return usageError{err}
	}
	defer s.Close()
	if err := c.writePID(); err != nil {
		return err
	}
	failed, err := c.serve(p, s, listeners, log)
	if err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-p.ctx.Done():
	}
	return c.drain(s, log)
}

// serve serves the listeners. What it returns gets their errors.
func (c *proxyCmd) serve(
	p *program, s *proxy.Server, all []net.Listener, log *slog.Logger,
) (failed chan error, err error) {
	failed = make(chan error, len(all)+1)
	serve := s.Serve
	if c.Exit {
		exit, err := c.exit()
		if err != nil {
			return nil, usageError{err}
		}
		serve = func(l net.Listener) error { return s.ServeExit(l, exit) }
	}
	begin := func(l net.Listener, serve func(net.Listener) error) {
		go func() {
			if err := serve(l); err != nil {
				failed <- err
			}
		}()
	}
	for _, l := range all {
		begin(l, serve)
	}
	if c.Ops == "" {
		return failed, nil
	}
	var config net.ListenConfig
	l, err := config.Listen(p.ctx, "tcp", c.Ops)
	if err != nil {
		return nil, fmt.Errorf("--ops: %w", err)
	}
	log.Info("listening", "proto", "ops", "addr", l.Addr().String())
	begin(l, s.ServeOps)
	return failed, nil
}

// options turns the flags into those of the proxy.
func (c *proxyCmd) options(log *slog.Logger) (o proxy.Options, err error) {
	v, _ := buildVersion()
	o = proxy.Options{
		IdleConns: c.KeepaliveConns, MaxConns: c.MaxConnsPerHost,
		Read: time.Duration(c.ReadTimeout), Write: time.Duration(c.WriteTimeout),
		ProxyRead: time.Duration(c.ProxyReadTimeout), DenyPrivate: c.DenyPrivate,
		Connect: c.Connect, NoInterim: c.DropInterim, HTTP2: c.HTTP2,
		StatsSize: c.Stsize, StatsFactor: c.Spfactor, Version: v, Log: log,
		WireConns: c.WireConns,
	}
	for _, domain := range c.Suffix {
		if !strings.Contains(strings.Trim(domain, "."), ".") {
			return o, fmt.Errorf("--suffix %q: want a domain of your own, such as "+
				"corp.example.com: under one without a dot anybody may register a name", domain)
		}
		o.Suffixes = append(o.Suffixes, strings.Trim(domain, "."))
	}
	if err := c.checkWire(); err != nil {
		return o, err
	}
	if c.TokenFile != "" && !c.Exit {
		tokens, err := readTokens(c.TokenFile)
		if err != nil {
			return o, err
		}
		o.Token = tokens[0]
	}
	for _, u := range c.Upstream {
		if u != "" {
			o.Upstreams = append(o.Upstreams, u)
		}
	}
	if len(o.Upstreams) > 0 {
		o.DNSRefresh = 3 * time.Second // as chocon
	}
	for _, text := range c.Allow {
		pattern, err := proxy.ParsePattern(text)
		if err != nil {
			return o, fmt.Errorf("--allow %w", err)
		}
		o.Allow = append(o.Allow, pattern)
	}
	for _, text := range c.AllowAddress {
		prefix, err := netip.ParsePrefix(text)
		if a, ok := netip.ParseAddr(text); ok == nil {
			prefix, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return o, fmt.Errorf("--allow-address %q: want an address or a network such as "+
				"127.0.0.0/8", text)
		}
		o.AllowAddresses = append(o.AllowAddresses, prefix.Masked())
	}
	return o, c.checkExposure()
}

// checkExposure refuses to be an open proxy for other machines by accident.
func (c *proxyCmd) checkExposure() error {
	if len(c.Upstream) > 0 || len(c.Allow) > 0 || c.Open || c.Exit && c.TokenFile != "" ||
		strings.HasPrefix(c.Listen, "unix:") {
		return nil
	}
	a, err := netip.ParseAddr(c.Listen)
	if c.Listen == "localhost" || err == nil && a.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %s: other machines could reach any upstream through this proxy: "+
		"name those they may with --allow, or give --open", c.Listen)
}

// listen opens the port, or takes the listeners that were opened for us.
func (c *proxyCmd) listen(p *program, log *slog.Logger) ([]net.Listener, error) {
	sockets, err := supervisor.Sockets(p.env, os.Getpid())
	if err != nil {
		return nil, err
	}
	all := make([]net.Listener, 0, 1)
	for _, s := range sockets {
		all = append(all, s.Listener)
	}
	if len(all) == 0 {
		network, address := "tcp", net.JoinHostPort(c.Listen, strconv.Itoa(c.Port))
		if path, ok := strings.CutPrefix(c.Listen, "unix:"); ok {
			network, address = "unix", path
			removeStaleSocket(path)
		}
		// A client that has died is found by the timeouts; asking it would cost
		// four system calls for each connection.
		config := net.ListenConfig{KeepAlive: -1}
		l, err := config.Listen(p.ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("--listen: %w", err)
		}
		all = append(all, l)
	}
	proto := "proxy"
	switch {
	case c.Exit && c.TLSCert != "":
		proto = "wire-tls"
	case c.Exit:
		proto = "wire"
	}
	for _, l := range all {
		log.Info("listening", "proto", proto, "addr", l.Addr().String())
	}
	return all, nil
}

// writePID writes the process's number, all of it or nothing.
func (c *proxyCmd) writePID() error {
	if c.PidFile == "" {
		return nil
	}
	tmp := c.PidFile + ".tmp"
	text := strconv.Itoa(os.Getpid()) + "\n"
	if err := os.WriteFile(tmp, []byte(text), 0o644); err != nil {
		return fmt.Errorf("--pid-file: %w", err)
	}
	if err := os.Rename(tmp, c.PidFile); err != nil {
		return fmt.Errorf("--pid-file: %w", err)
	}
	return nil
}

// drain lets the requests under way end.
func (c *proxyCmd) drain(s *proxy.Server, log *slog.Logger) error {
	limit := time.Duration(c.ShutdownTimeout)
	log.Info("stopping", "limit", limit.String())
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if errors.Is(s.Shutdown(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("requests were still under way after --shutdown-timeout (%v), "+
			"and were cut", limit)
	}
	return nil
}

// openAccess opens the access log that the flags ask for; nil: none.
func (c *proxyCmd) openAccess(p *program, log *slog.Logger) (*rotatedLog, error) {
	config := accesslog.Config{
		Columns: proxy.AccessColumns(), Stdout: p.stderr, Log: log,
		Public: true, // as chocon's files are: they hold no queries
	}
	settings := accesslog.Settings{
		Mode: accesslog.All, Format: accesslog.Format(c.AccessLogFormat),
	}
	r := &rotatedLog{
		settings: settings, keep: c.AccessLogRotate, report: log,
		every: time.Duration(c.AccessLogRotateTime) * time.Minute,
	}
	switch c.AccessLogDir {
	case "none":
		return nil, nil
	case "stdout":
		config.Stdout = p.stdout
	case "":
	default:
		if r.every <= 0 || r.keep < 1 {
			return nil, usageError{errors.New(
				"--access-log-rotate and --access-log-rotate-time must be more than 0")}
		}
		r.dir = filepath.Clean(c.AccessLogDir)
	}
	return r, r.open(config)
}

// onHangup calls f at every SIGHUP, where there is one.
func onHangup(f func()) (stop func()) {
	if hangup == nil {
		return func() {}
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, hangup)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-c:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(done) }
}
