package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/bench/harness"
)

// threads is how many workers a server gets: one for each of its cores.
func threads(on harness.Placement) int {
	if on == harness.Pinned {
		return 1
	}
	return runtime.NumCPU()
}

// nginxConfig is a configuration that writes below %[1]s alone, with %[2]d
// workers, listening on %[3]s; %[4]s is what differs. Connections are kept, as
// the other servers keep them.
const nginxConfig = `daemon off;
%[5]s
worker_processes %[2]d;
pid %[1]s/pid;
error_log stderr warn;
worker_rlimit_nofile 65536;
events { worker_connections 32768; }
http {
	access_log off;
	default_type application/json;
	sendfile on;
	tcp_nopush on;
	keepalive_timeout 3600;
	keepalive_requests 1000000000;
	open_file_cache max=20000 inactive=1h;
	open_file_cache_valid 1h;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
%[4]s
}
`

// startNginx starts nginx with some lines within its http block, and waits until
// it has documents.
func startNginx(
	ctx context.Context, name string, on harness.Placement, dir string, keys int, expect string,
	lines func(listen string) string,
) (*harness.Server, error) {
	p, address, err := nginxProcess(name, on, dir, lines)
	if err != nil {
		return nil, err
	}
	return harness.NewServer(ctx, p, address, keys, expect)
}

// nginxProcess starts nginx with some lines within its http block. It returns
// where it listens.
func nginxProcess(
	name string, on harness.Placement, dir string, lines func(listen string) string,
) (*harness.Process, string, error) {
	nginx, err := harness.Look("nginx")
	if err != nil {
		return nil, "", err
	}
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, "", err
	}
	user := ""
	if os.Getuid() == 0 { // else the workers become nobody, who may not read the files
		user = "user root;"
	}
	home := filepath.Join(dir, name)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, "", err
	}
	config := filepath.Join(home, "nginx.conf")
	text := fmt.Sprintf(nginxConfig, home, threads(on), address, lines(address), user)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, "", err
	}
	p, err := harness.Start(name, dir, on, nginx, "-c", config, "-p", home, "-e", "stderr")
	return p, address, err
}

// startNginxReturn answers with a fixed string.
func startNginxReturn(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	body, err := os.ReadFile(w.One)
	if err != nil {
		return nil, err
	}
	// A dollar would be a variable, and there is no other way to write one.
	text := strings.NewReplacer(`\`, `\\`, "'", `\'`, "$", "S").Replace(string(body))
	return startNginx(ctx, "nginx-return", on, dir, w.Opts.Keys, "", func(listen string) string {
		return fmt.Sprintf("server { listen %s; location / { return 200 '%s'; } }", listen, text)
	})
}

// startNginxStatic serves files.
func startNginxStatic(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	keys := min(w.Opts.Keys, harness.SampleKeys)
	return startNginx(ctx, "nginx-static", on, dir, keys, keyed, func(listen string) string {
		return fmt.Sprintf("server { listen %s; root %s; }", listen, w.Static)
	})
}

// startNginxCache caches what the net/http peer serves.
func startNginxCache(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	back, err := goPeer("nginx-backend", "nethttp", "-mode", "ready")(ctx, w, harness.Free, dir)
	if err != nil {
		return nil, err
	}
	const cache = `proxy_cache_path %s/cache levels=1:2 keys_zone=docs:64m inactive=1h;
	server {
		listen %s;
		location / { proxy_pass %s; proxy_cache docs; proxy_cache_valid 200 1h; }
	}`
	keys := min(w.Opts.Keys, harness.SampleKeys)
	r, err := startNginx(ctx, "nginx-proxycache", on, dir, keys, keyed, func(at string) string {
		return fmt.Sprintf(cache, dir, at, back.Base)
	})
	return onTopOf(r, back, err)
}

// onTopOf makes a server responsible for the one that it needs.
func onTopOf(r, back *harness.Server, err error) (*harness.Server, error) {
	if err != nil {
		back.Close()
		return nil, err
	}
	r.Behind = append(r.Behind, back.Main)
	return r, nil
}

// startVarnish caches what the net/http peer serves.
func startVarnish(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	varnishd, err := harness.Look("varnishd")
	if err != nil {
		return nil, err
	}
	back, err := goPeer("varnish-backend", "nethttp", "-mode", "ready")(ctx, w, harness.Free, dir)
	if err != nil {
		return nil, err
	}
	address, _, err := harness.Loopback()
	if err != nil {
		return onTopOf(nil, back, err)
	}
	p, err := harness.Start("varnish", dir, on, varnishd, "-F", "-a", address, "-j", "none",
		"-b", strings.TrimPrefix(back.Base, "http://"), "-n", filepath.Join(dir, "varnish"),
		"-s", "malloc,512m", "-t", "3600", "-p", "workspace_client=64k",
		"-p", "thread_pools="+strconv.Itoa(threads(on)), "-p", "timeout_idle=3600")
	if err != nil {
		return onTopOf(nil, back, err)
	}
	r, err := harness.NewServer(ctx, p, address, min(w.Opts.Keys, harness.SampleKeys), keyed)
	return onTopOf(r, back, err)
}

// h2oConfig serves files below %[4]s; see nginxConfig.
const h2oConfig = `num-threads: %[2]d
max-connections: 32768
pid-file: %[1]s/h2o.pid
%[5]s
http1-request-timeout: 3600
listen: {host: 127.0.0.1, port: %[3]d%[6]s}
file.mime.setdefaulttype: application/json
hosts:
  default:
    paths:
      /: {file.dir: %[4]s}
`

// startH2O serves files.
func startH2O(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	return startH2OWith(ctx, w, on, dir, "http", "")
}

// startH2OWith is startH2O with something more about its listener.
func startH2OWith(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir, scheme, more string,
) (*harness.Server, error) {
	h2o, err := harness.Look("h2o")
	if err != nil {
		return nil, err
	}
	address, port, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user: root"
	}
	config := filepath.Join(dir, "h2o.conf")
	text := fmt.Sprintf(h2oConfig, dir, threads(on), port, w.Static, user, more)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := harness.Start("h2o", dir, on, h2o, "-c", config)
	if err != nil {
		return nil, err
	}
	return harness.NewServerAt(ctx, p, scheme+"://"+address, min(w.Opts.Keys, harness.SampleKeys),
		keyed)
}
