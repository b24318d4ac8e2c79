package servers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
)

// acceptedByFloor has a floor server tell: it prints the number at a signal.
func acceptedByFloor(p *harness.Process) harness.Tally {
	return func(ctx context.Context) (int, error) {
		before, err := os.ReadFile(p.Log)
		if err != nil {
			return 0, err
		}
		ctx, cancel := context.WithTimeout(ctx, harness.Patience)
		defer cancel()
		for ctx.Err() == nil {
			// A signal that comes while it is busy is lost.
			if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
				return 0, p.Failed(err)
			}
			time.Sleep(10 * time.Millisecond)
			text, err := os.ReadFile(p.Log)
			if err != nil {
				return 0, err
			}
			lines := bytes.Fields(text[min(len(before), len(text)):])
			if len(lines) > 0 && bytes.HasSuffix(text, []byte("\n")) {
				return strconv.Atoi(string(lines[len(lines)-1]))
			}
		}
		return 0, p.Failed(fmt.Errorf("it does not say what it has accepted: %w", ctx.Err()))
	}
}

// acceptedByNginx asks nginx, which has stub_status at a URL. What that takes is
// not counted.
func acceptedByNginx(url string) harness.Tally {
	client := &http.Client{Timeout: harness.Patience,
		Transport: &http.Transport{DisableKeepAlives: true}}
	own := 0
	return func(ctx context.Context) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, err
		}
		own++
		n, err := statusAccepts(text)
		return n - own, err
	}
}

// statusAccepts reads the connections out of what nginx's stub_status says.
func statusAccepts(text []byte) (int, error) {
	_, rest, ok := bytes.Cut(text, []byte("server accepts handled requests"))
	fields := bytes.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0, fmt.Errorf("the status of nginx is %.200q", text)
	}
	return strconv.Atoi(string(fields[0]))
}

// startDirectFloor is the floor without a proxy, which tells what it accepts.
func startDirectFloor(
	ctx context.Context, w *harness.Fixture, on harness.Placement, dir string,
) (*harness.Server, error) {
	r, err := startFloor(ctx, w, on, dir)
	if err == nil {
		r.Accepted = acceptedByFloor(r.Main)
	}
	return r, err
}
