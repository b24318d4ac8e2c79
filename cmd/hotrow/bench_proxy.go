package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/load"
)

type benchProxyCmd struct {
	Connections      []int
	Duration, Warmup time.Duration
	Size             int
	Upstream, Format string
	Proxy            []string
}

// benchProxyCommand returns hotrow bench proxy.
func benchProxyCommand(p *program) *cobra.Command {
	c := new(benchProxyCmd)
	cmd := p.command("proxy", "Ask an upstream directly and through proxies.", c.Run)
	f := cmd.Flags()
	f.IntSliceVarP(&c.Connections, "connections", "c", []int{64, 256},
		"Open at once, `N,...`: rows for each.")
	timeFlags(f, &c.Duration, &c.Warmup, 5*time.Second, time.Second)
	f.IntVar(&c.Size, "size", 1500, "Bytes of an answer's body.")
	f.StringVar(&c.Upstream, "upstream", "", "`URL` that is asked; none: a server of its own.")
	f.Var(list{&c.Proxy}, "proxy", "Another proxy to --upstream, `NAME=URL`: a row more.")
	formatFlag(f, &c.Format, "text", "markdown", "json")
	return cmd
}

// A proxyFigure is what was measured of a way to the upstream.
type proxyFigure struct {
	Load   *load.Result `json:"load"`
	Opened *int64       `json:"opened,omitempty"` // connections at an upstream of our own
}

// Run asks an upstream directly, through a proxy of its own, which is another
// process, and through others.
func (c *benchProxyCmd) Run(p *program) (err error) {
	if len(c.Proxy) > 0 && c.Upstream == "" {
		return usageError{errors.New("--proxy: a proxy to --upstream, and there is none")}
	}
	own := &benchUpstream{}
	target := c.Upstream
	if target == "" {
		if target, err = own.serve(c.Size); err != nil {
			return err
		}
		defer own.close()
	}
	dir, err := os.MkdirTemp("", "hotrow-bench-proxy-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	child, url, err := startBenchProxy(p.ctx, p.env, filepath.Join(dir, "log"), target)
	if err != nil {
		return err
	}
	defer child.kill()
	ways := []proxyWay{{"direct", target, 0}, {"hotrow proxy", url, child.Pid}}
	for _, other := range c.Proxy {
		name, url := splitName(other)
		ways = append(ways, proxyWay{name, url, 0})
	}
	all, err := c.measureAll(p, ways, own)
	if err != nil {
		return err
	}
	if err := c.print(p, all); err != nil {
		return err
	}
	runs := make([]*load.Result, len(all))
	for i := range all {
		runs[i] = all[i].Load
	}
	return loadErrors(runs)
}

// A proxyWay is a way to the upstream.
type proxyWay struct {
	name, url string
	pid       int // whose CPU is shown; 0: nobody's
}

// measureAll makes a row of each way for each number of connections.
func (c *benchProxyCmd) measureAll(
	p *program, ways []proxyWay, own *benchUpstream,
) (all []proxyFigure, err error) {
	for _, connections := range c.Connections {
		for _, way := range ways {
			if isTerminal(p.stderr) {
				fmt.Fprintf(p.stderr, "%s, %d connections ...\n", way.name, connections)
			}
			before := own.opened.Load()
			r, err := load.Run(p.ctx, load.Config{
				URL: way.url, Connections: connections, Duration: c.Duration, Warmup: c.Warmup,
				PID: way.pid,
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			r.Name = way.name
			f := proxyFigure{Load: r}
			if c.Upstream == "" {
				opened := own.opened.Load() - before
				f.Opened = &opened
			}
			all = append(all, f)
		}
	}
	return all, nil
}

// print prints the rows.
func (c *benchProxyCmd) print(p *program, all []proxyFigure) error {
	if c.Format == "json" {
		return printJSON(p.stdout, all)
	}
	t := load.Table{Columns: []string{"way", "connections", "answers/s", "to direct", "p50 µs",
		"p99 µs", "proxy CPU µs", "opened upstream"}}
	direct := 0.0
	for _, f := range all {
		r := f.Load
		if r.Name == "direct" {
			direct = r.Rate
		}
		cpu, opened := "-", "-"
		if r.Server != nil {
			cpu = fmt.Sprintf("%.1f", r.Server.Total)
		}
		if f.Opened != nil {
			opened = fmt.Sprint(*f.Opened)
		}
		t.Rows = append(t.Rows, []string{r.Name, fmt.Sprint(r.Connections), load.Count(r.Rate),
			fmt.Sprintf("%.2f", r.Rate/direct), load.Count(r.Reads.P50), load.Count(r.Reads.P99),
			cpu, opened})
	}
	return printTable(p, c.Format, &t)
}

// A benchUpstream answers whatever it is asked with the same bytes.
type benchUpstream struct {
	listener net.Listener
	opened   atomic.Int64
}

// serve begins to answer with bodies of so many bytes, and returns where.
func (u *benchUpstream) serve(size int) (url string, err error) {
	if u.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return "", err
	}
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"+
		"Content-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))
	go func() {
		for {
			nc, err := u.listener.Accept()
			if err != nil {
				return // it was closed
			}
			u.opened.Add(1)
			go answerAll(nc, answer)
		}
	}()
	return "http://" + u.listener.Addr().String() + "/", nil
}

func (u *benchUpstream) close() { _ = u.listener.Close() }

// answerAll answers each request of a connection, none of which has a body.
func answerAll(nc net.Conn, answer []byte) {
	defer func() { _ = nc.Close() }()
	end := []byte("\r\n\r\n")
	b := make([]byte, 16<<10)
	for got := 0; ; {
		n, err := nc.Read(b[got:])
		if err != nil || n == 0 {
			return
		}
		got += n
		for at := bytes.Index(b[:got], end); at >= 0; at = bytes.Index(b[:got], end) {
			got = copy(b, b[at+len(end):got])
			if _, err := nc.Write(answer); err != nil {
				return
			}
		}
	}
}

// proxyListens is how a proxy says where it is.
var proxyListens = regexp.MustCompile(`listening.*addr"?[=:]"?([0-9.:]+)`)

// startBenchProxy starts a proxy to upstream, and returns where it is.
func startBenchProxy(
	ctx context.Context, env []string, said, upstream string,
) (child *selfChild, url string, err error) {
	args := []string{"proxy", "-p", "0", "--access-log-dir", "none",
		"--upstream", strings.TrimSuffix(upstream, "/")}
	child, err = startSelf(ctx, env, said, args, "the proxy does not listen",
		func(text []byte) error {
			m := proxyListens.FindSubmatch(text)
			if m == nil {
				return errors.New("no answer")
			}
			url = "http://" + string(m[1]) + "/"
			return nil
		})
	return child, url, err
}
