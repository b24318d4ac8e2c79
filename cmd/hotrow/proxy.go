package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/proxy"
	"github.com/hotrow/hotrow/internal/supervisor"
)

type proxyCmd struct {
	asked func(flag string) bool

	Listen string
	Port   int

	AccessLogDir, AccessLogFormat        string
	AccessLogRotate, AccessLogRotateTime int
	PidFile                              string

	KeepaliveConns, MaxConnsPerHost int

	ReadTimeout, WriteTimeout, ProxyReadTimeout, ShutdownTimeout seconds

	Upstream         []string
	Stsize, Spfactor int
	Show             bool

	Allow, AllowAddress, Suffix                    []string
	DenyPrivate, Connect, HTTP2, DropInterim, Open bool

	Ops string

	TraceEndpoint string
	TraceSample   uint32
}

// proxyCommand returns hotrow proxy. It has the flags of chocon, and then ours.
func proxyCommand(p *program) *cobra.Command {
	c := new(proxyCmd)
	cmd := p.command("proxy", "Relay HTTP over upstream connections that stay open.", c.Run)
	c.addChocon(cmd.Flags())
	c.addOurs(cmd.Flags())
	c.asked = cmd.Flags().Changed
	return cmd
}

// addChocon adds the flags that chocon has, too.
func (c *proxyCmd) addChocon(f *pflag.FlagSet) {
	f.StringVarP(&c.Listen, "listen", "l", "127.0.0.1", "`ADDR` to listen at, or unix:PATH.")
	f.IntVarP(&c.Port, "port", "p", 3000, "Port; 0: any that is free.")

	f.StringVar(&c.AccessLogDir, "access-log-dir", "",
		"`DIR` for its files, stdout or none; \"\": stderr.")
	f.IntVar(&c.AccessLogRotate, "access-log-rotate", 30, "Files that are kept.")
	f.IntVar(&c.AccessLogRotateTime, "access-log-rotate-time", 1440, "Minutes to a file.")
	f.Var(newOneOf(&c.AccessLogFormat, "json", "json", "ltsv"), "access-log-format",
		"`FORMAT` of its lines: json or ltsv.")
	f.StringVar(&c.PidFile, "pid-file", "", "`FILE` where the process's number goes.")

	f.IntVarP(&c.KeepaliveConns, "keepalive-conns", "c", 256,
		"Idle connections for an upstream address.")
	f.IntVar(&c.MaxConnsPerHost, "max-conns-per-host", 0,
		"Connections in use for an upstream; 0: no bound.")

	c.ReadTimeout, c.WriteTimeout = seconds(30*time.Second), seconds(90*time.Second)
	c.ProxyReadTimeout, c.ShutdownTimeout = seconds(time.Minute), seconds(time.Hour)
	f.Var(&c.ReadTimeout, "read-timeout", "Without progress of a request, in seconds.")
	f.Var(&c.WriteTimeout, "write-timeout", "Without progress of a response, in seconds.")
	f.Var(&c.ProxyReadTimeout, "proxy-read-timeout", "For an answer to begin, in seconds.")
	f.Var(&c.ShutdownTimeout, "shutdown-timeout", "For requests under way to end.")

	f.Var(list{&c.Upstream}, "upstream", "All goes to `URL`: http(s)://, unix:.")
	f.IntVar(&c.Stsize, "stsize", 1000, "Response times kept for the statistics.")
	f.IntVar(&c.Spfactor, "spfactor", 3, "One response time in so many is kept.")
	f.BoolVarP(&c.Show, "version", "v", false, "Print the version.")
}

// addOurs adds the flags that chocon does not have.
func (c *proxyCmd) addOurs(f *pflag.FlagSet) {
	f.Var(list{&c.Allow}, "allow", "Upstream that may be named: `HOST[:PORT]`.")
	f.Var(list{&c.AllowAddress}, "allow-address", "Addresses that are refused otherwise, a `CIDR`.")
	f.Var(list{&c.Suffix}, "suffix", "`DOMAIN` that may follow .ccnproxy in a Host.")
	f.BoolVar(&c.DenyPrivate, "deny-private", false, "Refuse upstreams in private networks.")
	f.BoolVar(&c.Connect, "connect", false, "Tunnel CONNECT.")
	f.BoolVar(&c.HTTP2, "http2", false, "Speak HTTP/2 with upstreams that choose it.")
	f.BoolVar(&c.DropInterim, "drop-interim", false, "Keep 1xx answers from clients.")
	f.BoolVar(&c.Open, "open", false,
		"Let other machines use the proxy although it takes any upstream.")

	f.StringVar(&c.Ops, "ops", "", "`ADDR` that answers /metrics and /.api/ alone.")

	f.StringVar(&c.TraceEndpoint, "trace-endpoint", "",
		"`URL` of a collector of OpenTelemetry: http://HOST:4318.")
	f.Uint32Var(&c.TraceSample, "trace-sample", 0,
		"Record one in `N` requests that belong to no trace.")
}

// seconds is a duration, in seconds where no unit is given.
type seconds time.Duration

// Set implements pflag.Value.
func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		*s = seconds(n * float64(time.Second))
	} else {
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("want seconds, or a number with a unit such as 1h")
		}
		*s = seconds(d)
	}
	if *s <= 0 {
		return errors.New("must be more than 0")
	}
	return nil
}

func (s *seconds) String() string { return time.Duration(*s).String() }
func (s *seconds) Type() string   { return "duration" }

// Run relays until the context ends.
func (c *proxyCmd) Run(p *program) error {
	if c.Show {
		return printVersion(p)
	}
	p.stdout = p.given // as for serve
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
	if err := c.writePID(p.ctx); err != nil {
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
	begin := func(l net.Listener, serve func(net.Listener) error) {
		go func() {
			if err := serve(l); err != nil {
				failed <- err
			}
		}()
	}
	for _, l := range all {
		begin(l, s.Serve)
	}
	if c.Ops == "" {
		return failed, nil
	}
	at, err := config.ParseListener(c.Ops)
	if err != nil {
		return nil, usageError{fmt.Errorf("--ops: %w", err)}
	}
	l, err := bind(p.ctx, at, net.ListenConfig{})
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
		Admit: front.Admit(nil),
	}
	for _, domain := range c.Suffix {
		if !strings.Contains(strings.Trim(domain, "."), ".") {
			return o, fmt.Errorf("--suffix %q: want a domain of your own, such as "+
				"corp.example.com: under one without a dot anybody may register a name", domain)
		}
		o.Suffixes = append(o.Suffixes, strings.Trim(domain, "."))
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
	return o, nil
}

// checkExposure refuses to be an open proxy for other machines by accident. local says
// that only this machine can reach the listener.
func (c *proxyCmd) checkExposure(at string, local bool) error {
	if local || len(c.Upstream) > 0 || len(c.Allow) > 0 || c.Open {
		return nil
	}
	return usageError{fmt.Errorf("--listen %s: other machines could reach any upstream through "+
		"this proxy: name those they may with --allow, or give --open", at)}
}

// listen opens the port, or takes the listeners that were opened for us.
func (c *proxyCmd) listen(p *program, log *slog.Logger) ([]net.Listener, error) {
	sockets, err := supervisor.Sockets(p.env, os.Getpid())
	if err != nil {
		return nil, err
	}
	all := make([]net.Listener, 0, 1)
	for _, s := range sockets {
		if err := c.checkExposure(s.Addr().String(), front.IsLocal(s.Addr())); err != nil {
			return nil, err
		}
		all = append(all, s.Listener)
	}
	if len(all) == 0 {
		l, err := c.openPort(p.ctx, log)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	for _, l := range all {
		log.Info("listening", "proto", "proxy", "addr", l.Addr().String())
	}
	return all, nil
}

// openPort opens what --listen and --port say.
func (c *proxyCmd) openPort(ctx context.Context, log *slog.Logger) (net.Listener, error) {
	text := c.Listen
	if !strings.HasPrefix(text, "unix:") {
		text = net.JoinHostPort(text, strconv.Itoa(c.Port))
	}
	at, err := config.ParseListener(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("--listen: %w", err)}
	}
	if err := c.checkExposure(text, at.Local()); err != nil {
		return nil, err
	}
	// A client that has died is found by the timeouts; asking it would cost
	// four system calls for each connection.
	how := net.ListenConfig{KeepAlive: -1}
	if !c.asked("port") && !c.asked("listen") {
		l, err := bindNear(ctx, at, how, nil)
		if err == nil {
			sayMoved(log, "the proxy", at, l)
		}
		return l, err
	}
	l, err := bind(ctx, at, how)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--listen, --port: %w%s", err, holderOf(at.Address))
	} else if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return l, nil
}

// writePID writes the process's number, all of it or nothing.
func (c *proxyCmd) writePID(ctx context.Context) error {
	if c.PidFile == "" {
		return nil
	}
	err := replaceFile(ctx, c.PidFile, 0o644, func(to io.Writer) error {
		_, err := fmt.Fprintln(to, os.Getpid())
		return err
	})
	if err != nil {
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
