package scenarios

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/internal/demo"
)

const (
	trackers     = 10_000
	keysTracked  = 10                    // of each
	changesEvery = 50 * time.Millisecond // a row, by HTTP
)

// measureTracking loads hotrow by GETs of some connections, while rows change: first alone,
// and then beside thousands of connections that keep copies, are told of each change of
// what they keep, and read it again.
func measureTracking(
	ctx context.Context, w *harness.Fixture, a *harness.Attempt,
) ([]harness.Figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes := make(chan error, 1)
	go func() { changes <- changeRows(ctx, a.Peer) }()
	alone, err := w.Once(ctx, a.On, a.Row, a.Peer, a.Connections, 0)
	if err != nil {
		return nil, err
	}
	all := &tracking{address: a.Peer.Address(), keys: a.Peer.Keys}
	if err := all.open(ctx); err != nil {
		return nil, err
	}
	told := all.told.Load()
	beside, err := w.Once(ctx, a.On, a.Row, a.Peer, a.Connections, 0)
	told = all.told.Load() - told
	cancel()
	all.close()
	if err := errors.Join(err, <-changes, all.failure()); err != nil {
		return nil, err
	}
	return []harness.Figure{
		harness.FigureOf("answers/s alone", alone.Rate),
		harness.FigureOf("answers/s beside", beside.Rate),
		harness.FigureOf("p99 µs alone", harness.P99(alone)),
		harness.FigureOf("p99 µs beside", harness.P99(beside)),
		harness.FigureOf("p99 ratio", harness.P99(beside)/harness.P99(alone)),
		harness.FigureOf("CPU µs alone", alone.Server.Total),
		harness.FigureOf("CPU µs beside", beside.Server.Total),
		harness.FigureOf("told", float64(told)),
		harness.FigureOf("failed", float64(alone.Failed()+beside.Failed())),
	}, nil
}

// changeRows changes a random row again and again, until ctx ends.
func changeRows(ctx context.Context, peer *harness.Server) error {
	change := patchRow
	if len(peer.Others) == 0 { // it has no other protocol
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", peer.Address())
		if err != nil {
			return err
		}
		defer func() { _ = nc.Close() }()
		in := bufio.NewReader(nc)
		change = func(_ context.Context, peer *harness.Server) error {
			return setAgain(nc, in, peer)
		}
	}
	for harness.Wait(ctx, changesEvery); ctx.Err() == nil; harness.Wait(ctx, changesEvery) {
		if err := change(ctx, peer); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// patchRow changes a random row by HTTP.
func patchRow(ctx context.Context, peer *harness.Server) error {
	url := fmt.Sprintf("%s/depts/%d", peer.Others[0], demo.FirstDept+rand.IntN(peer.Keys))
	body := fmt.Sprintf(`{"deptLocation":"%d"}`, rand.IntN(1e9))
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("PATCH %s: %s", url, resp.Status)
	}
	return nil
}

// setAgain sets a random key of a Redis server to what it is, which is a change, too.
func setAgain(nc net.Conn, in *bufio.Reader, peer *harness.Server) error {
	key := fmt.Sprintf("depts:%d", demo.FirstDept+rand.IntN(peer.Keys))
	if _, err := fmt.Fprintf(nc, "GET %s\r\n", key); err != nil {
		return err
	}
	var size int
	if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil || size < 1 {
		return fmt.Errorf("GET %s: a value of %d bytes: %w", key, size, err)
	}
	value := make([]byte, size+2)
	if _, err := io.ReadFull(in, value); err != nil {
		return err
	}
	_, err := fmt.Fprintf(nc, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s", len(key), key, size,
		value)
	if err != nil {
		return err
	}
	if said, err := in.ReadString('\n'); err != nil || said != "+OK\r\n" {
		return fmt.Errorf("SET %s: %q: %w", key, said, err)
	}
	return nil
}

// tracking are the connections that keep copies.
type tracking struct {
	address string
	keys    int
	told    atomic.Int64 // keys
	closed  atomic.Bool

	mu    sync.Mutex // guards what follows
	conns []net.Conn
	err   error
	work  sync.WaitGroup
}

// open makes all connections, and returns when each has read its keys.
func (k *tracking) open(ctx context.Context) error {
	read := make(chan error, trackers)
	for i := range trackers {
		nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", k.address)
		if err != nil {
			k.close()
			return err
		}
		k.mu.Lock()
		k.conns = append(k.conns, nc)
		k.mu.Unlock()
		k.work.Go(func() { k.keep(nc, read) })
		for ; i >= 200 && len(read) < i-200; time.Sleep(time.Millisecond) {
			if ctx.Err() != nil {
				k.close()
				return ctx.Err()
			}
		}
	}
	for range trackers {
		if err := <-read; err != nil {
			k.close()
			return err
		}
	}
	return nil
}

// keep reads some keys over a connection, and each again when it is told of it. read is
// told once they have been read.
func (k *tracking) keep(nc net.Conn, read chan<- error) {
	out := []byte("HELLO 3\r\nCLIENT TRACKING ON\r\n")
	for range keysTracked {
		out = fmt.Appendf(out, "GET depts:%d\r\n", demo.FirstDept+rand.IntN(k.keys))
	}
	_, err := nc.Write(append(out, "ECHO read\r\n"...))
	in := bufio.NewReaderSize(nc, 2048) // a document is one read
	for err == nil {
		var line []byte
		if line, err = in.ReadSlice('\n'); err != nil || line[0] != '$' {
			continue
		}
		size, wrong := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
		if wrong != nil || size < 0 {
			continue
		}
		var head []byte
		if head, err = in.Peek(min(size, 32)); err != nil {
			break
		}
		text := string(head)
		_, err = in.Discard(size + 2)
		switch {
		case text == "read":
			read <- nil
		case strings.HasPrefix(text, "depts:"): // it is told of this key
			k.told.Add(1)
			_, err = fmt.Fprintf(nc, "GET %s\r\n", text)
		}
	}
	if !k.closed.Load() {
		k.mu.Lock()
		k.err = errors.Join(k.err, err)
		k.mu.Unlock()
		select {
		case read <- err:
		default:
		}
	}
}

// close ends all connections.
func (k *tracking) close() {
	k.closed.Store(true)
	k.mu.Lock()
	for _, nc := range k.conns {
		_ = nc.Close()
	}
	k.mu.Unlock()
	k.work.Wait()
}

// failure returns why connections have ended before they were closed.
func (k *tracking) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
