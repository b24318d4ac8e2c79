package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/load"
)

// A measurement is what has been measured so far.
type measurement struct {
	dir     string
	hotrow  string
	seconds time.Duration
	figures []figures
}

// figures are what one server takes for a set. Memory is in bytes.
type figures struct {
	server string
	of     set
	bytes  int64 // of keys and bodies
	idle   int64
	loaded int64
	most   int64 // while a fifth of the requests write
	gc     *collector
}

const (
	connections = 16
	settles     = 2 * time.Second
)

func (m *measurement) measure(ctx context.Context, s set, start starter) (f figures, err error) {
	x, err := start(ctx, m, s)
	if err != nil {
		return f, err
	}
	defer x.process.Stop()
	harness.Wait(ctx, settles)
	f = figures{server: x.process.Name, of: s, bytes: s.bytes(), idle: x.resident()}
	if err := x.fill(s); err != nil {
		return f, x.process.Failed(err)
	}
	harness.Wait(ctx, settles)
	f.loaded = x.resident()
	stop, sampled := make(chan struct{}), make(chan int64)
	go x.sample(stop, sampled)
	err = x.use(s, m.seconds)
	close(stop)
	f.most = <-sampled
	if err != nil {
		return f, x.process.Failed(err)
	}
	if x.url != "" && s.body != 0 {
		f.gc, err = m.collector(ctx, x, s)
	}
	return f, err
}

// sample sends the most that was resident until stop.
func (x *server) sample(stop chan struct{}, most chan int64) {
	n := x.resident()
	for {
		select {
		case <-stop:
			most <- n
			return
		case <-time.After(50 * time.Millisecond):
			n = max(n, x.resident())
		}
	}
}

// resident returns the memory of the process, in bytes; 0: it has ended.
func (x *server) resident() int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(x.process.Cmd.Process.Pid),
		"statm"))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64) // as the kernel writes it
	return pages * int64(os.Getpagesize())
}

// fill has it keep all rows: by four connections, a batch at a time.
func (x *server) fill(s set) error {
	const feeds, batch = 4, 100
	return together(feeds, x.feed, func(i int, c *client) error {
		for from := i * batch; from < s.rows; from += feeds * batch {
			if err := x.rows(c, s, from, min(from+batch, s.rows)); err != nil {
				return fmt.Errorf("fill: %w", err)
			}
		}
		return nil
	})
}

// use has each connection write a row and read four, at random, for a time.
func (x *server) use(s set, d time.Duration) error {
	end := time.Now().Add(d)
	return together(connections, x.dial, func(i int, c *client) error {
		draw, err := load.Keys{N: int64(s.rows)}.Draw(1, i, connections)
		for n := byte(0); err == nil && time.Now().Before(end); n++ {
			if k := int(draw()); n%5 == 0 {
				err = c.write(s, k, n)
			} else {
				err = c.read(s, k)
			}
		}
		return err
	})
}

// together has n clients do something at once, each with its number.
func together(n int, dial func() (*client, error), do func(i int, c *client) error) error {
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() {
			c, err := dial()
			if err == nil {
				err = do(i, c)
				c.close()
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
