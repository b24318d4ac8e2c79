package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// delayCommand is the argument that makes this program a road of some length.
const delayCommand = "delay"

// oneWay is how long bytes are on the road to an upstream that is away.
const oneWay = 5 * time.Millisecond

// startDelay starts a road to an address, and returns where it begins.
func startDelay(ctx context.Context, dir, to string) (p *process, at string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	if at, _, err = loopback(); err != nil {
		return nil, "", err
	}
	p, err = start(delayCommand, dir, free, self, delayCommand, at, to, oneWay.String())
	if err != nil {
		return nil, "", err
	}
	if err := p.await(ctx, accepts(at)); err != nil {
		p.stop()
		return nil, "", err
	}
	return p, at, nil
}

// serveDelay is the road: args are where it begins, where it leads, and how long
// bytes take one way.
func serveDelay(ctx context.Context, args []string) error {
	long, err := time.ParseDuration(args[2])
	if err != nil {
		return fmt.Errorf("delay: %w", err)
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return fmt.Errorf("delay: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		nc, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("delay: %w", err)
		}
		go travel(nc, args[1], long)
	}
}

// travel moves the bytes of one connection. What the client sends first waits for
// the round trip, too, that connecting takes on such a road.
func travel(client net.Conn, to string, long time.Duration) {
	defer func() { _ = client.Close() }()
	connected := time.Now().Add(2 * long)
	upstream, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = upstream.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		moveLate(upstream, client, connected, long)
	}()
	moveLate(client, upstream, connected, long)
	<-done
}

// A latePiece is bytes and when they arrive. None is the end.
type latePiece struct {
	at time.Time
	b  []byte
}

// moveLate moves bytes in one direction. None leaves before a time.
func moveLate(to io.Writer, from io.Reader, earliest time.Time, long time.Duration) {
	road := make(chan latePiece, 1024)
	go func() {
		defer close(road)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			left := time.Now()
			if left.Before(earliest) {
				left = earliest
			}
			if n > 0 {
				road <- latePiece{left.Add(long), b[:n]}
			}
			if err != nil {
				road <- latePiece{at: left.Add(long)}
				return
			}
		}
	}()
	for p := range road {
		<-time.After(time.Until(p.at))
		if p.b == nil {
			break
		}
		if _, err := to.Write(p.b); err != nil {
			break
		}
	}
	if c, ok := to.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite() // an end that is gone has no other
	}
	for range road { // so that the reader ends
		continue
	}
}
