package servers

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/hotrow/hotrow/bench/harness"
)

// A proxyStart starts a proxy that listens at an address and relays to another.
type proxyStart func(w *harness.Fixture, on harness.Placement, dir, listen, upstream string,
	secure bool) (
	*harness.Process, error)

// proxies are what relays, by name. Each is a peer in front of a floor server,
// and another one, called NAME-tls, in front of nginx with TLS and a floor.
var proxies = map[string]proxyStart{
	"proxy-hotrow":                 hotrowProxy,
	"proxy-nginx":                  nginxProxy,
	"proxy-haproxy":                haproxyProxy,
	"proxy-fasthttp":               fasthttpProxy,
	"proxy-chocon":                 choconProxy(buildChocon, "-c", "256"),
	"proxy-chocon-default":         choconProxy(buildChocon),
	"proxy-chocon-fasthttp":        choconProxy(lookFasthttpBranch),
	"proxy-chocon-rebuilt":         rebuiltProxy(256),
	"proxy-chocon-rebuilt-default": rebuiltProxy(2),
}

// withProxies adds the proxies to the peers.
func withProxies(all map[string]harness.Starter) map[string]harness.Starter {
	for name, begin := range proxies {
		all[name] = behindProxy(name, begin, false)
		all[name+"-tls"] = behindProxy(name+"-tls", begin, true)
	}
	all["tls-upstream"] = startTLSUpstream
	all["floor-direct"] = startDirectFloor
	return all
}

// startTLSUpstream starts what is behind the proxies with TLS, to be asked by the
// clients themselves.
func startTLSUpstream(
	ctx context.Context, w *harness.Fixture, _ harness.Placement, dir string,
) (*harness.Server, error) {
	back, err := startFloor(ctx, w, harness.Free, dir)
	if err != nil {
		return nil, err
	}
	front, err := terminateTLS(ctx, dir, back.Address())
	if err != nil {
		back.Main.Stop()
		return nil, err
	}
	_, rest, _ := strings.Cut(front.URL, "://")
	_, path, _ := strings.Cut(rest, "/")
	front.URL = front.Base + "/" + path
	front.Behind = append(front.Behind, back.Main)
	return front, nil
}

// behindProxy makes the starter of a proxy with its upstream.
func behindProxy(name string, begin proxyStart, secure bool) harness.Starter {
	return func(
		ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
	) (*harness.Server, error) {
		b, err := startBehind(ctx, w, dir, secure)
		if err != nil {
			return nil, err
		}
		r, err := func() (*harness.Server, error) {
			listen, _, err := harness.Loopback()
			if err != nil {
				return nil, err
			}
			p, err := begin(w, on, dir, listen, b.upstream, secure)
			if err != nil {
				return nil, err
			}
			p.Name = name
			return harness.NewServer(ctx, p, listen, w.Opts.Keys, "")
		}()
		if err != nil {
			b.stop()
			return nil, err
		}
		r.Behind, r.Accepted = b.processes, b.accepted
		return r, nil
	}
}

// An upstreamStack is what a proxy relays to.
type upstreamStack struct {
	processes []*harness.Process // the nearest first
	upstream  string             // the address that the proxy is told
	accepted  harness.Tally
}

// stop ends it.
func (b *upstreamStack) stop() {
	for _, p := range b.processes {
		p.Stop()
	}
}

// add puts a process before what is there.
func (b *upstreamStack) add(p *harness.Process, upstream string) {
	b.processes = append([]*harness.Process{p}, b.processes...)
	b.upstream = upstream
}

// startBehind starts what is behind a proxy, where there is room: it must not slow
// the proxy.
func startBehind(
	ctx context.Context, w *harness.Fixture, dir string, secure bool,
) (_ *upstreamStack, err error) {
	back, err := startFloor(ctx, w, harness.Free, dir)
	if err != nil {
		return nil, err
	}
	b := &upstreamStack{accepted: acceptedByFloor(back.Main)}
	b.add(back.Main, back.Address())
	defer func() {
		if err != nil {
			b.stop()
		}
	}()
	if secure {
		front, err := terminateTLS(ctx, dir, b.upstream)
		if err != nil {
			return nil, err
		}
		b.add(front.Main, front.Address())
		b.accepted = front.Accepted
	}
	return b, nil
}

// terminateTLS starts nginx with TLS in front of an upstream.
func terminateTLS(ctx context.Context, dir, upstream string) (*harness.Server, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048) // what most of the web still has
	if err != nil {
		return nil, err
	}
	cert, key, err := certifyKey(dir, private)
	if err != nil {
		return nil, err
	}
	const text = `upstream floor { server %s; keepalive 512; keepalive_requests 1000000000; }
	server {
		listen %s;
		listen %s ssl;
		ssl_certificate %s; ssl_certificate_key %s;
		location / {
			proxy_pass http://floor; proxy_http_version 1.1; proxy_set_header Connection "";
		}
		location = /status { stub_status; }
	}`
	tls, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	r, err := startNginx(ctx, "tls-upstream", harness.Free, dir, 1, "", func(at string) string {
		for tls == at && err == nil { // a port that is free may be given out twice
			tls, _, err = harness.Loopback()
		}
		return fmt.Sprintf(text, upstream, at, tls, cert, key)
	})
	if err == nil {
		r.Accepted = acceptedByNginx(r.Base + "/status")
		r.Base, r.Cert = "https://"+tls, cert
	}
	return r, err
}

// scheme returns that of an upstream.
func scheme(secure bool) string {
	if secure {
		return "https://"
	}
	return "http://"
}

// trusting has a Go program trust the upstream's certificate.
func trusting(dir string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+filepath.Join(dir, "cert.pem"))
	}
}

// hotrowProxy starts hotrow's.
func hotrowProxy(
	w *harness.Fixture, on harness.Placement, dir, listen, upstream string, secure bool,
) (*harness.Process, error) {
	host, port, _ := strings.Cut(listen, ":")
	return harness.StartWith("proxy-hotrow", dir, on, trusting(dir), w.Hotrow, "proxy", "--listen",
		host,
		"--port", port, "--upstream", scheme(secure)+upstream, "--access-log-dir", "none")
}

// rebuiltProxy makes the start of chocon's design, rebuilt: see its package.
func rebuiltProxy(kept int) proxyStart {
	return func(
		w *harness.Fixture, on harness.Placement, dir, listen, upstream string, secure bool,
	) (*harness.Process, error) {
		return harness.StartWith("proxy-chocon-rebuilt", dir, on, trusting(dir),
			w.Programs+"chocon-rebuilt",
			"-listen", listen, "-upstream", scheme(secure)+upstream, "-c", strconv.Itoa(kept))
	}
}

// nginxProxy starts nginx with kept upstream connections.
func nginxProxy(
	_ *harness.Fixture, on harness.Placement, dir, listen, upstream string, secure bool,
) (*harness.Process, error) {
	nginx, err := harness.Look("nginx")
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "proxy")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;"
	}
	lines := fmt.Sprintf(`upstream up { server %s; keepalive 512; keepalive_requests 1000000000; }
	server {
		listen %s;
		location / { proxy_pass %sup; proxy_http_version 1.1; proxy_set_header Connection ""; }
	}`, upstream, listen, scheme(secure))
	text := fmt.Sprintf(nginxConfig, home, threads(on), listen, lines, user)
	config := filepath.Join(home, "nginx.conf")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return harness.Start("proxy-nginx", dir, on, nginx, "-c", config, "-p", home, "-e", "stderr")
}

// haproxyProxy starts HAProxy.
func haproxyProxy(
	_ *harness.Fixture, on harness.Placement, dir, listen, upstream string, secure bool,
) (*harness.Process, error) {
	haproxy, err := harness.Look("haproxy")
	if err != nil {
		return nil, err
	}
	server := upstream
	if secure {
		server += " ssl verify none"
	}
	text := fmt.Sprintf(`global
    maxconn 4096
    nbthread %d
defaults
    mode http
    timeout connect 10s
    timeout client 1h
    timeout server 1h
    option http-keep-alive
    http-reuse always
    retries 0
listen proxy
    bind %s
    server up %s pool-max-conn 512
`, threads(on), listen, server)
	config := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return harness.Start("proxy-haproxy", dir, on, haproxy, "-db", "-f", config)
}

// fasthttpProxy starts the proxy of bench/peers.
func fasthttpProxy(
	w *harness.Fixture, on harness.Placement, dir, listen, upstream string, secure bool,
) (*harness.Process, error) {
	return harness.Start("proxy-fasthttp", dir, on, w.Programs+"fasthttp-proxy", "-listen", listen,
		"-upstream", upstream, "-tls="+strconv.FormatBool(secure))
}

// lookFasthttpBranch finds chocon's fasthttp branch, which was never released: a program of
// that name in PATH. Where there is none, the row is left out.
func lookFasthttpBranch() (string, error) {
	program, err := exec.LookPath("chocon-fasthttp")
	if err != nil {
		return "", fmt.Errorf("%w: chocon-fasthttp, which is to be in PATH", harness.ErrMissing)
	}
	return program, nil
}

// buildChocon takes chocon from PATH, or builds it out of its own module, once. Where
// neither can be had, the row is left out.
var buildChocon = sync.OnceValues(func() (string, error) {
	if program, err := exec.LookPath("chocon"); err == nil {
		return program, nil
	}
	program, err := filepath.Abs(filepath.Join("build", "bench", "chocon"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-mod=mod", "-o", program, "github.com/kazeburo/chocon")
	cmd.Dir, cmd.Env = "bench/peers/chocon", append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("%w: chocon, whose module cannot be had: %s", harness.ErrMissing,
			strings.TrimSpace(lines[len(lines)-1]))
	}
	return program, nil
})

// choconProxy makes the start of chocon, whose program find finds.
func choconProxy(find func() (string, error), args ...string) proxyStart {
	return func(
		_ *harness.Fixture, on harness.Placement, dir, listen, upstream string, secure bool,
	) (*harness.Process, error) {
		program, err := find()
		if err != nil {
			return nil, err
		}
		host, port, _ := strings.Cut(listen, ":")
		all := append([]string{program, "--listen", host, "--port", port, "--upstream",
			scheme(secure) + upstream + "/", "--access-log-dir", "none"}, args...)
		return harness.StartWith("proxy-chocon", dir, on, trusting(dir), all...)
	}
}
