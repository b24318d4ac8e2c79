package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// patience is how long a server may take to answer for the first time, and to
// end.
const patience = time.Minute

// A process is a running server.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string // file with what it says
	done chan error
}

// start starts a server. Its output goes to a file in dir.
func start(name, dir string, on placement, args ...string) (*process, error) {
	return startWith(name, dir, on, nil, args...)
}

// startWith is start with a change to the command.
func startWith(
	name, dir string, on placement, change func(*exec.Cmd), args ...string,
) (*process, error) {
	if on == pinned {
		args = append([]string{"taskset", "-c", "0"}, args...)
	}
	out, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	p := &process{name: name, cmd: exec.Command(args[0], args[1:]...), log: out.Name()}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = childAttributes()
	if change != nil {
		change(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.done = make(chan error, 1)
	go func() { p.done <- p.cmd.Wait() }()
	return p, nil
}

// pid is that of the server: taskset becomes the program that it starts.
func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the server and its children.
func (p *process) stop() {
	_ = endGroup(p.pid(), false) // it may have ended already
	select {
	case <-p.done:
	case <-time.After(patience / 6):
		_ = endGroup(p.pid(), true)
		<-p.done
	}
	_ = endGroup(p.pid(), true) // children that outlive it
}

// failed returns what the server has said, as an error.
func (p *process) failed(err error) error {
	text, readErr := os.ReadFile(p.log)
	if readErr != nil || len(text) == 0 {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return fmt.Errorf("%s: %w; its last words:\n%s", p.name, err, text[max(0, len(text)-2000):])
}

// await waits until ready says that the server is.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case ended := <-p.done:
			p.done <- ended
			return p.failed(fmt.Errorf("it has ended: %v", ended))
		case <-ctx.Done():
			return p.failed(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// awaitURL waits until a URL is answered with 200.
func (p *process) awaitURL(ctx context.Context, url string) error {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // a certificate of our own
	}}
	return p.await(ctx, func(context.Context) error {
		resp, err := client.Get(url)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", url, resp.Status)
		}
		return nil
	})
}

// accepts returns what says whether an address takes connections.
func accepts(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// freePort returns a port of the loopback that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// loopback returns an address of the loopback that nobody listens on.
func loopback() (address string, port int, err error) {
	port, err = freePort()
	return "127.0.0.1:" + strconv.Itoa(port), port, err
}

// look returns the path of a program, which may be where only root looks.
func look(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	if path, err := exec.LookPath("/usr/sbin/" + name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%w: %s (scripts/install-bench-deps installs it)", errMissing, name)
}

// errMissing says that a program is not installed.
var errMissing = errors.New("not installed")

// wait waits for some time or the end of ctx.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
