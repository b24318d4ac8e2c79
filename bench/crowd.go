package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// crowdCommand is the argument that makes this program a crowd.
const crowdCommand = "crowd"

// A crowd is many clients that ask for little: a process of its own.
type crowd struct {
	Kind        string `json:"kind"` // one of crowds
	Connections int    `json:"connections"`
	At          string `json:"at"`      // the peer whose clients they are; "": the row's own
	Address     string `json:"address"` // of that server
}

// The kinds of crowds.
const (
	idle    = "idle"         // one GET, then nothing
	heads   = "slow heads"   // a request of which one byte comes each second
	readers = "slow readers" // many GETs, of whose answers one byte is read each second
)

var crowds = []string{idle, heads, readers}

const (
	dialers     = 64 // connections that are made at the same time
	askedAhead  = 64 // GETs of a slow reader
	slowReceive = 4096
	perAddress  = 20_000 // connections from one address of the loopback
)

// A host is what a crowd's clients share.
type host struct {
	crowd
	slots chan struct{} // one for each dialer
	open  atomic.Int64  // clients that have begun
	again atomic.Int64  // connections that the server has closed
}

// serveCrowd is the crowd: it reads an order, says when all are there, and ends
// with its input.
func serveCrowd(ctx context.Context, in io.Reader, out io.Writer) error {
	h := &host{slots: make(chan struct{}, dialers)}
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(&h.crowd); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, io.MultiReader(decoder.Buffered(), in))
		cancel()
	}()
	var done sync.WaitGroup
	for i := range h.Connections {
		done.Go(func() {
			first := true
			for ctx.Err() == nil {
				h.client(ctx, i, first)
				first = false
			}
		})
	}
	for h.open.Load() < int64(h.Connections) && ctx.Err() == nil {
		wait(ctx, 10*time.Millisecond)
	}
	if _, err := fmt.Fprintln(out, "all there"); err != nil {
		return err
	}
	<-ctx.Done()
	done.Wait()
	_, err := fmt.Fprintf(out, "%d\n", h.again.Load())
	return err
}

// wait waits for some time or the end of ctx.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// client is one client until its connection ends.
func (h *host) client(ctx context.Context, i int, first bool) {
	conn, err := h.dial(ctx, i)
	if err != nil {
		wait(ctx, 50*time.Millisecond)
		return
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	begun := func() {
		if first {
			h.open.Add(1)
		}
		first = false
	}
	switch h.Kind {
	case heads:
		h.trickle(ctx, conn, begun)
	case readers:
		h.sip(ctx, conn, begun)
	default:
		h.rest(conn, begun)
	}
	if ctx.Err() == nil {
		h.again.Add(1)
	}
}

// dial connects, from an address that has ports left.
func (h *host) dial(ctx context.Context, i int) (net.Conn, error) {
	h.slots <- struct{}{}
	defer func() { <-h.slots }()
	d := net.Dialer{
		Timeout:   10 * time.Second,
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i/perAddress))},
	}
	if h.Kind == readers { // before the connection is made: it says how large the window is
		d.Control = func(_, _ string, c syscall.RawConn) error {
			var err error
			controlErr := c.Control(func(fd uintptr) { err = setReceiveBuffer(fd, slowReceive) })
			return errors.Join(controlErr, err)
		}
	}
	return d.DialContext(ctx, "tcp", h.Address)
}

// get is the request of all clients.
const get = "GET /depts/1000000 HTTP/1.1\r\nHost: localhost\r\n"

// trickle sends a head that does not end, a byte each second.
func (h *host) trickle(ctx context.Context, conn net.Conn, begun func()) {
	if _, err := io.WriteString(conn, get+"Accept: "); err != nil {
		return
	}
	begun()
	for ctx.Err() == nil {
		wait(ctx, time.Second)
		if _, err := io.WriteString(conn, "a"); err != nil {
			return
		}
	}
}

// sip asks for much and reads a byte of it each second.
func (h *host) sip(ctx context.Context, conn net.Conn, begun func()) {
	if _, err := io.WriteString(conn, strings.Repeat(get+"\r\n", askedAhead)); err != nil {
		return
	}
	begun()
	for one := make([]byte, 1); ctx.Err() == nil; {
		wait(ctx, time.Second)
		if _, err := conn.Read(one); err != nil {
			return
		}
	}
}

// rest asks once and waits for the server to close.
func (h *host) rest(conn net.Conn, begun func()) {
	if _, err := io.WriteString(conn, get+"\r\n"); err != nil {
		return
	}
	if !readAnswer(conn) {
		return
	}
	begun()
	_, _ = conn.Read(make([]byte, 1))
}

// readAnswer reads one answer.
func readAnswer(conn net.Conn) bool {
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 2048), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// A gathering is a running crowd.
type gathering struct {
	cmd    *exec.Cmd
	in     io.Closer
	out    *bufio.Reader
	stderr bytes.Buffer
}

// gather starts a crowd and returns when all of it is connected.
func gather(ctx context.Context, p placement, c crowd) (*gathering, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	args := []string{self, crowdCommand}
	if p == pinned {
		// What the crowd itself costs is not the server's: the generator, which
		// shares its core, goes first.
		args = append([]string{"chrt", "--idle", "0", "taskset", "-c", "1"}, args...)
	}
	g := &gathering{cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	g.cmd.SysProcAttr = childAttributes()
	g.cmd.Stderr = &g.stderr
	in, err := g.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	g.in, g.out = in, bufio.NewReader(out)
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("crowd: %w", err)
	}
	// The deadline of a crowd that never gets in.
	late := time.AfterFunc(2*patience, func() { _ = g.cmd.Process.Kill() })
	defer late.Stop()
	_, err = in.Write(order)
	if err == nil {
		_, err = g.out.ReadString('\n')
	}
	if err != nil {
		_, _ = g.leave()
		return nil, fmt.Errorf("a crowd of %d %s does not get in: %w: %s", c.Connections, c.Kind,
			err, bytes.TrimSpace(g.stderr.Bytes()))
	}
	return g, nil
}

// leave ends a crowd and returns how many connections the server has closed.
func (g *gathering) leave() (again int, err error) {
	late := time.AfterFunc(patience/6, func() { _ = g.cmd.Process.Kill() })
	defer late.Stop()
	_ = g.in.Close()
	_, scanErr := fmt.Fscan(g.out, &again)
	return again, errors.Join(scanErr, g.cmd.Wait())
}
