package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/hotkeys"
	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/jwt"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/supervisor"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/trace"
)

type serveCmd struct {
	Target, Config string
	Writable, Open bool
	Postgrest      bool
	Feed           string
	demo           *demoFile // of hotrow demo; nil: a TARGET or a configuration is served

	given func(flag string) bool
}

// serveCommand returns hotrow serve.
func serveCommand(p *program) *cobra.Command {
	c := new(serveCmd)
	cmd := p.command("serve", "Serve a database, or what a configuration says.", c.Run,
		argument{"[<target>]", "A SQLite file or a database URL.", &c.Target})
	f := cmd.Flags()
	f.StringVarP(&c.Config, "config", "c", "", "Serve what this configuration `FILE` says.")
	f.BoolVar(&c.Writable, "writable", false,
		"Let a database given as TARGET be written.")
	f.BoolVar(&c.Postgrest, "postgrest", false,
		"Serve clients of PostgREST and Supabase below /rest/v1.")
	f.BoolVar(&c.Open, "open", false, "Let other machines read without a token.")
	f.Var(newOneOf(&c.Feed, "auto", "auto", "logical", "notify", "binlog", "sqlite", "none"),
		"feed", "`MODE` of TARGET's feed: auto, logical, notify, binlog, sqlite or none.")
	c.given = f.Changed
	return cmd
}

// Run serves until the context ends.
func (c *serveCmd) Run(p *program) error {
	p.stdout = p.given // a server goes on without it, and says what the access log misses
	if err := c.fits(); err != nil {
		return usageError{err}
	}
	if err := p.takeSockets(); err != nil {
		return err
	}
	cfg, err := c.load(p)
	if err != nil {
		return err
	}
	if err := cfg.CheckExposure(c.Open); err != nil {
		return err
	}
	events := new(ops.Events)
	handler := newLogger(p.stderr, cfg.Log).Handler()
	var terminal *terminalLog
	if isTerminal(p.stderr) && cfg.Log.Format == "text" {
		terminal = newTerminalLog(p.stderr, p.getenv("NO_COLOR") == "")
		handler = terminal.handler(&level)
		defer terminal.release()
	}
	s := &server{cmd: c, p: p, log: slog.New(events.Handler(handler)), events: events,
		newTables: make(chan struct{}, 1),
		terminal:  terminal, unsent: front.NewOutputBudget(0, 0)}
	s.live.Store(cfg)
	defer s.close()
	return s.run()
}

// A server is one running serve command: what it has opened, in the order in
// which it is closed again.
type server struct {
	cmd  *serveCmd
	p    *program
	live atomic.Pointer[config.Config] // see cfg
	log  *slog.Logger

	terminal  *terminalLog        // nil: the log goes elsewhere
	events    *ops.Events         // the last records of log
	unsent    *front.OutputBudget // of all fronts
	tracer    *trace.Tracer       // nil: there is none
	access    *accesslog.Log
	accessNow accesslog.Settings // of access; changed by reload

	listeners map[string]net.Listener // those that are on, by name

	sources    opened
	memory     *tier.Memory
	disk       *tier.Disk // nil: there is none
	set        *resource.Set
	hot        *hotkeys.Keys
	tokens     front.Tokens
	jwt        atomic.Pointer[jwt.Verifier] // nil: there are no JWTs
	behind     atomic.Pointer[behindServer] // nil: there is no fallback
	cert       front.Certificate
	front      *httpfront.Handler
	site       *httpserve.Site // nil: HTTP is off
	protocols  []protocolServer
	port       *ops.Port    // what the operator's listener answers with
	console    http.Handler // of it, at the HTTP listener
	ops        *http.Server // nil: it is off
	opsGate    *admit.Gate  // of it
	links      shortener
	hangups    chan os.Signal
	newTables  chan struct{} // the database has a table that is not followed
	changing   sync.Mutex    // held while a reload, or a first key, changes the resources
	discovered atomic.Bool   // the resources are known
	draining   atomic.Bool   // no new requests, please
}

// cfg returns the configuration that counts now. A reload, or tables that are
// found, put another in its place; what it returns is never written to.
func (s *server) cfg() *config.Config { return s.live.Load() }

// run opens everything from the outside in, so that a port that is taken is
// known before any database is touched, and serves.
func (s *server) run() error {
	defer s.keepHangups()()
	if err := s.listen(); err != nil {
		return err
	}
	warnFiles(s.cfg(), openFiles(), s.log)
	if err := s.openAccessLog(); err != nil {
		return err
	}
	s.tracer = newTracer(s.cfg().Trace, s.log)
	ctx := s.p.ctx
	if s.cmd.demo != nil {
		if err := s.createDemo(ctx); err != nil {
			return err
		}
	}
	var err error
	written := s.cmd.Target != "" && s.cmd.Writable
	s.sources, err = openSources(ctx, s.cfg(),
		opening{demo: s.cmd.demo != nil, written: written}, s.log)
	if err != nil {
		return err
	}
	if err := s.makeStore(ctx); err != nil {
		return err
	}
	if err := s.prepareLinks(ctx); err != nil {
		return err
	}
	if err := s.openSet(ctx); err != nil {
		return err
	}
	if err := s.setTokens(nil, s.cfg()); err != nil {
		return err
	}
	failed := make(chan error, 2)
	if err := s.serve(failed); err != nil {
		return err
	}
	if err := s.startLinks(ctx, failed); err != nil {
		return err
	}
	stop := s.whatChanges(ctx, failed)
	defer stop()
	if s.cmd.Target == "" {
		s.discovered.Store(true)
		s.greet(ctx)
	}
	if c := s.cmd.demo; c != nil && !c.still {
		go s.tellStory(ctx)
	}
	supervisor.Ready(s.log, s.statusLine())
	go s.watch(ctx)
	select {
	case <-ctx.Done():
		return s.drain()
	case err := <-failed:
		return err
	}
}

// listen opens the ports.
func (s *server) listen() error {
	s.listeners = make(map[string]net.Listener)
	for _, l := range s.cfg().Listeners() {
		if l.Off() {
			continue
		}
		ln, systemd := s.p.sockets[l.Name]
		if !systemd {
			var err error
			if ln, err = s.bind(l); err != nil {
				return fmt.Errorf("%s.listen: %w%s", l.Name, err, portHint(l, err))
			}
			if ln == nil {
				continue
			}
		}
		s.listeners[l.Name] = ln
		said := []any{"proto", protocol(l), "addr", ln.Addr().String()}
		if systemd {
			said = append(said, "opened_by", "systemd")
		}
		s.log.Info("listening", said...)
	}
	s.links.listener = s.listeners["links"]
	return nil
}

// bind opens a listener. Where nobody has asked for its port, which a configuration file does by
// what it leaves out, a port that is taken ends nothing: the pages for people, at http and links,
// take another, and what is optional is left out, which is nil.
func (s *server) bind(l config.NamedListener) (net.Listener, error) {
	ctx := context.Background()
	switch {
	case s.cmd.Config != "" || s.p.getenv(listenVariable(l.Name)) != "":
		return bind(ctx, l.Listener, net.ListenConfig{})
	case l.Name != "http" && l.Name != "links":
		ln, err := bind(ctx, l.Listener, net.ListenConfig{})
		if errors.Is(err, syscall.EADDRINUSE) {
			s.log.Warn(fmt.Sprintf("%s is taken%s: %s is left out", l.Address,
				holderOf(l.Address), l.Name))
			return nil, nil
		}
		return ln, err
	}
	var others []string
	for _, other := range s.cfg().Listeners() {
		others = append(others, other.Address)
	}
	ln, err := bindNear(ctx, l.Listener, net.ListenConfig{}, others)
	if err == nil {
		sayMoved(s.log, l.Name, l.Listener, ln)
	}
	return ln, err
}

// listenVariable is the variable of the environment that sets a listener.
func listenVariable(name string) string { return "HOTROW_" + strings.ToUpper(name) + "_LISTEN" }

// protocol returns what a listener speaks.
func protocol(l config.NamedListener) string {
	switch {
	case l.TLS && l.Name == "http":
		return "https"
	case l.TLS:
		return l.Name + "-tls"
	}
	return l.Name
}

// portHint says who has an address that is taken, and how to mend it.
func portHint(l config.NamedListener, err error) string {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return ""
	}
	return fmt.Sprintf("%s: stop what listens there, or set %s.listen or %s to "+
		"another address, such as 127.0.0.1:0 for any free port", holderOf(l.Address), l.Name,
		listenVariable(l.Name))
}

// openSet opens the tier and the resources.
func (s *server) openSet(ctx context.Context) error {
	specs, err := resourceSpecs(s.cfg(), !s.links.keyless.Load())
	if err != nil {
		return err
	}
	b := s.budget()
	s.p.tuneCollector(b)
	s.memory = tier.NewMemory(b.answers())
	if s.disk, err = openDisk(s.cfg(), s.log); err != nil {
		return err
	}
	s.hot = new(hotkeys.Keys)
	s.set, err = resource.Open(ctx, resource.SetOptions{
		Memory: s.memory, Lists: b.versions(), Disk: s.disk, Hot: s.hot, Log: s.log,
		Sources: sourceOptions(s.cfg(), s.sources), Resources: specs,
	})
	if err != nil {
		return err
	}
	go s.keepHuge(ctx)
	go s.watchPressure(ctx)
	return nil
}

// keepHuge keeps a large cache in huge pages where the system can.
func (s *server) keepHuge(ctx context.Context) {
	if err := s.memory.KeepHuge(ctx); err != nil {
		s.log.Debug("the cache is in small pages", "reason", err)
	}
}

// setTokens makes the tokens and JWTs of cfg the ones that are good, in place of those of old.
func (s *server) setTokens(old, cfg *config.Config) error {
	var list []front.Token
	for _, t := range cfg.Auth.Tokens {
		tok, err := front.NewToken(t.Name, t.SHA256, t.Role)
		if err != nil {
			return err
		}
		list = append(list, tok)
	}
	s.tokens.Set(list)
	return s.setJWT(old, cfg)
}

// serve starts the servers.
func (s *server) serve(failed chan<- error) error {
	s.front = httpfront.New(s.frontOptions(s.cfg()))
	if err := s.setCertificate(s.cfg()); err != nil {
		return err
	}
	if err := s.serveProtocols(); err != nil {
		return err
	}
	s.makeConsole() // it looks at what is above
	if err := s.serveHTTP(); err != nil {
		return err
	}
	s.serveOps(failed)
	return nil
}

// serveOps starts the operator's server.
func (s *server) serveOps(failed chan<- error) {
	if !s.cfg().Ops.Listen.Off() {
		s.port.Start() // the console is at the HTTP port as well
	}
	ln := s.listeners["ops"]
	if ln == nil {
		return
	}
	s.opsGate = admit.New(front.Admit(nil), ln.Addr(), s.log)
	s.ops = httpserve.Server(s.port, httpserve.Timeouts{
		Write: 2 * time.Minute, // a CPU profile takes its time
	}, s.log)
	bounded := admit.Listener(ln, s.opsGate)
	go func() {
		if err := s.ops.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
}

func (s *server) frontOptions(cfg *config.Config) httpfront.Options {
	return httpfront.Options{
		Resources: s.set, Starting: s.starting, Auth: s.tokens.Principal, Issued: s.tokens.Issued,
		JWT: s.jwt.Load(), Anonymous: cfg.Anonymous(),
		Hosts: cfg.HTTP.Hosts, Origins: cfg.HTTP.CORS.Names(), Open: s.cmd.Open,
		BasePath: cfg.HTTP.BasePath, MaxBody: int64(cfg.HTTP.MaxBody),
		CacheControl: cfg.HTTP.CacheControl,
		Postgrest:    cfg.HTTP.Postgrest.Path, Schemas: cfg.HTTP.Postgrest.Schemas,
		Roles: cfg.HTTP.Postgrest.Known(), Anon: cfg.HTTP.Postgrest.Anon,
		Fallback: s.fallback(cfg), Resttest: cfg.HTTP.Compat == "resttest",
		HSTS: cfg.HTTP.TLS.HSTS, Compression: cfg.HTTP.Codings(), Log: s.log,
		Access: s.access, Unsent: s.unsent, Trace: s.tracer, Pages: s.pages(cfg),
	}
}

// starting reports whether the tables of a TARGET are not known yet.
func (s *server) starting() bool { return !s.discovered.Load() }

// discover waits for the database of a TARGET and serves its tables. It fails where no
// wait helps: whoever has typed the URL is there to mend it.
func (s *server) discover(ctx context.Context, failed chan<- error) {
	wait := 50 * time.Millisecond
	for told := false; ; {
		server, err := s.findTables(ctx)
		if err == nil {
			s.log.Info("database", "server", server, "resources", len(s.cfg().Resources))
			s.discovered.Store(true)
			s.greet(ctx)
			supervisor.Ready(s.log, s.statusLine())
			return
		}
		if ctx.Err() != nil {
			return
		}
		if e := source.LastingOf(err); e != nil {
			failed <- fmt.Errorf("%v: %w; %s", s.cfg().Sources["main"].URL, e, e.Hint)
			return
		}
		if !source.ClassOf(err).Passing() {
			failed <- err
			return
		}
		if !told {
			log := s.log.With(reachHint(err)...)
			log.Warn("database not reached, trying again", "err", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, 500*time.Millisecond)
	}
}

// reachHint says what mends a database that cannot be reached, where the error does not.
func reachHint(err error) []any {
	if source.LastingOf(err) != nil {
		return nil
	}
	return []any{"hint", "check the host, the port, and that the database runs"}
}

// drain ends the servers gently: no new connections, requests under way get
// their answers.
func (s *server) drain() error {
	limit := time.Duration(s.cfg().HTTP.ShutdownTimeout)
	s.draining.Store(true)
	supervisor.Stopping(s.log)
	s.port.Stop()
	s.log.Info("stopping", "limit", limit)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var errs []error
	if s.site != nil {
		errs = append(errs, s.site.Shutdown(ctx))
	}
	errs = append(errs, s.drainLinks(ctx))
	for _, p := range s.protocols {
		errs = append(errs, p.site.Shutdown(ctx))
	}
	if s.ops != nil {
		errs = append(errs, s.ops.Shutdown(ctx))
	}
	if ctx.Err() != nil {
		return fmt.Errorf("requests were still under way after http.shutdown_timeout (%v), "+
			"and were cut", limit)
	}
	return errors.Join(errs...)
}

// close closes what is open, the other way round.
func (s *server) close() {
	if s.site != nil {
		s.site.Close()
	}
	s.closeLinks()
	for _, p := range s.protocols {
		p.site.Close()
		p.front.Close()
	}
	if s.ops != nil {
		_ = s.ops.Close()
	}
	for _, ln := range s.listeners {
		_ = ln.Close()
	}
	if s.access != nil {
		if err := s.access.Close(); err != nil {
			s.log.Warn("requests are missing in the access log", "err", err)
		}
	}
	s.tracer.Close()
	if v := s.jwt.Load(); v != nil {
		v.Close()
	}
	if s.set != nil {
		if err := s.set.Close(); err != nil {
			s.log.Warn("resources did not close", "err", err)
		}
	}
	if s.memory != nil {
		_ = s.memory.Close()
	}
	if s.disk != nil {
		if err := s.disk.Close(); err != nil {
			s.log.Warn("the cache on disk did not close", "err", err)
		}
	}
	if err := s.sources.close(); err != nil {
		s.log.Warn("databases did not close", "err", err)
	}
}
