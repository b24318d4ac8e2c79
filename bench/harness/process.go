package harness

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

// Patience is how long a server may take to answer for the first time, and to
// end.
const Patience = time.Minute

// A Process is a running server.
type Process struct {
	Name string
	Cmd  *exec.Cmd
	Log  string // file with what it says
	Done chan error
}

// Start starts a server. Its output goes to a file in dir.
func Start(name, dir string, on Placement, args ...string) (*Process, error) {
	return StartWith(name, dir, on, nil, args...)
}

// StartWith is start with a change to the command.
func StartWith(
	name, dir string, on Placement, change func(*exec.Cmd), args ...string,
) (*Process, error) {
	if on == Pinned {
		args = append([]string{"taskset", "-c", "0"}, args...)
	}
	out, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	p := &Process{Name: name, Cmd: exec.Command(args[0], args[1:]...), Log: out.Name()}
	p.Cmd.Stdout, p.Cmd.Stderr = out, out
	p.Cmd.SysProcAttr = ChildAttributes()
	if change != nil {
		change(p.Cmd)
	}
	if err := p.Cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.Done = make(chan error, 1)
	go func() { p.Done <- p.Cmd.Wait() }()
	return p, nil
}

// pid is that of the server: taskset becomes the program that it starts.
func (p *Process) pid() int { return p.Cmd.Process.Pid }

// Stop ends the server and its children.
func (p *Process) Stop() {
	_ = endGroup(p.pid(), false) // it may have ended already
	select {
	case <-p.Done:
	case <-time.After(Patience / 6):
		_ = endGroup(p.pid(), true)
		<-p.Done
	}
	_ = endGroup(p.pid(), true) // children that outlive it
}

// Failed returns what the server has said, as an error.
func (p *Process) Failed(err error) error {
	text, readErr := os.ReadFile(p.Log)
	if readErr != nil || len(text) == 0 {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return fmt.Errorf("%s: %w; its last words:\n%s", p.Name, err, text[max(0, len(text)-2000):])
}

// Await waits until ready says that the server is.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case ended := <-p.Done:
			p.Done <- ended
			return p.Failed(fmt.Errorf("it has ended: %v", ended))
		case <-ctx.Done():
			return p.Failed(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// AwaitURL waits until a URL is answered with 200.
func (p *Process) AwaitURL(ctx context.Context, url string) error {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // a certificate of our own
	}}
	return p.Await(ctx, func(context.Context) error {
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

// Accepts returns what says whether an address takes connections.
func Accepts(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// FreePort returns a port of the loopback that nobody listens on.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Loopback returns an address of the loopback that nobody listens on.
func Loopback() (address string, port int, err error) {
	port, err = FreePort()
	return "127.0.0.1:" + strconv.Itoa(port), port, err
}

// Look returns the path of a program, which may be where only root looks.
func Look(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	if path, err := exec.LookPath("/usr/sbin/" + name); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%w: %s (scripts/install-bench-deps installs it)", ErrMissing, name)
}

// ErrMissing says that a program is not installed.
var ErrMissing = errors.New("not installed")

// Wait waits for some time or the end of ctx.
func Wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
