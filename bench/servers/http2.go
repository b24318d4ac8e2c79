package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hotrow/hotrow/bench/harness"
)

// startHotrowH2C starts hotrow with HTTP/2 without TLS.
func startHotrowH2C(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	return startHotrowWith(ctx, w, on, dir, flavour{})
}

// nginxHTTP2 makes the starter of nginx with files by HTTP/2. Without TLS a port of nginx
// speaks HTTP/2 alone, so that it is another than that of HTTP/1.1.
func nginxHTTP2(secure bool) harness.Starter {
	return func(
		ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
	) (*harness.Server, error) {
		cert, key, err := certify(dir)
		if err != nil {
			return nil, err
		}
		second, _, err := harness.Loopback()
		if err != nil {
			return nil, err
		}
		name, scheme := "nginx-h2c", "http"
		lines := fmt.Sprintf("listen %s http2", second)
		if secure {
			name, scheme = "nginx-tls", "https"
		}
		p, address, err := nginxProcess(name, on, dir, func(at string) string {
			if secure {
				lines = fmt.Sprintf("listen %s ssl http2; ssl_protocols TLSv1.2 TLSv1.3; "+
					"ssl_certificate %s; ssl_certificate_key %s", at, cert, key)
			} else {
				lines += "; listen " + at
			}
			return fmt.Sprintf("server { %s; root %s; }", lines, w.Static)
		})
		if err != nil {
			return nil, err
		}
		r, err := harness.NewServerAt(ctx, p, scheme+"://"+address,
			min(w.Opts.Keys, harness.SampleKeys), keyed)
		if err == nil && !secure {
			r.Others = []string{"http://" + second}
		}
		return r, err
	}
}

// startSecureH2O starts h2o with TLS.
func startSecureH2O(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	cert, key, err := certify(dir)
	if err != nil {
		return nil, err
	}
	return startH2OWith(ctx, w, on, dir, "https",
		fmt.Sprintf(", ssl: {certificate-file: %s, key-file: %s}", cert, key))
}

// caddyConfig serves files below %[2]s at %[1]s.
const caddyConfig = `{
	admin off
	auto_https off
}
https://%[1]s {
	tls %[3]s %[4]s
	root * %[2]s
	file_server
}
`

// startCaddy serves files by Caddy.
func startCaddy(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	caddy, err := harness.Look("caddy")
	if err != nil {
		return nil, err
	}
	cert, key, err := certify(dir)
	if err != nil {
		return nil, err
	}
	address, _, err := harness.Loopback()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "Caddyfile")
	text := fmt.Sprintf(caddyConfig, address, w.Static, cert, key)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := harness.Start("caddy", dir, on, caddy, "run", "--config", config, "--adapter",
		"caddyfile")
	if err != nil {
		return nil, err
	}
	return harness.NewServerAt(ctx, p, "https://"+address,
		min(w.Opts.Keys, harness.SampleKeys), keyed)
}
