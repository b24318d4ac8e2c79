// Command memory measures what hotrow, memcached, Redis and Valkey take for the same rows: the
// resident memory of the process, less what it takes before it has any, for each byte of keys and
// bodies. It writes its tables into a page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	sets := flag.String("sets", "100000x100,100000x200,100000x1600,100000x10000,100000xmixed,"+
		"1000000x200,1000000x1600,1000000xmixed", "rows x bytes of a body, or mixed, ...")
	seconds := flag.Duration("for", 10*time.Second, "how long rows are written, and read")
	program := flag.String("hotrow", "bin/hotrow", "the program")
	page := flag.String("page", "bench/results/memory-arena.md", "the page that is written")
	flag.Parse()
	dir, err := os.MkdirTemp("", "memory-figures-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	harness.RaiseFiles()
	m := &measurement{dir: dir, hotrow: *program, seconds: *seconds}
	for _, text := range strings.Split(*sets, ",") {
		s, err := newSet(text)
		if err != nil {
			return err
		}
		if err := m.set(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return os.WriteFile(*page, m.page(), 0o644)
}

// firstKey is the number of the first row: keys have 8 bytes.
const (
	firstKey = 10_000_000
	keyBytes = 8
)

// A set is rows of bodies of one size, or of many: as many of 50 bytes to 100 as of 5 KB to 10.
type set struct {
	rows int
	body int // bytes; 0: mixed
}

// newSet reads a set: 100000x200, 100000xmixed.
func newSet(text string) (s set, err error) {
	rows, body, _ := strings.Cut(text, "x")
	s.rows, err = strconv.Atoi(rows)
	if err == nil && body != "mixed" {
		s.body, err = strconv.Atoi(body)
	}
	if err != nil || s.rows < 1 || s.rows >= 9*firstKey || body != "mixed" && s.body < 50 {
		return s, fmt.Errorf("set %q: want ROWSxBYTES or ROWSxmixed, 1 to %d rows of 50 bytes or "+
			"more", text, 9*firstKey-1)
	}
	return s, nil
}

// size returns the bytes of the body of row i.
func (s set) size(i int) int {
	if s.body != 0 {
		return s.body
	}
	return int(50 * math.Pow(200, float64(i*7919%1000)/1000))
}

func (s set) bytes() (sum int64) {
	for i := range s.rows {
		sum += int64(keyBytes + s.size(i))
	}
	return sum
}

// appendBody appends the document of row i, with a text that the state picks.
func (s set) appendBody(dst []byte, i int, state byte) []byte {
	end := len(dst) + s.size(i) - len(`"}`)
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, int64(firstKey+i), 10)
	dst = append(dst, `,"v":"`...)
	for at := len(dst); at < end; at++ {
		dst = append(dst, 'a'+byte(at*i+at)%24+state%2)
	}
	return append(dst, `"}`...)
}

func (s set) String() string {
	if s.body == 0 {
		return "50 B to 10 KB"
	}
	return strconv.Itoa(s.body) + " B"
}

// set measures each server with s.
func (m *measurement) set(ctx context.Context, s set) error {
	for _, start := range []starter{startHotrow, startMemcached, redisLike("redis-server"),
		redisLike("valkey-server")} {
		f, err := m.measure(ctx, s, start)
		if errors.Is(err, harness.ErrMissing) {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		if err != nil {
			return err
		}
		m.figures = append(m.figures, f)
		fmt.Fprintf(os.Stderr, "%+v %+v\n", f, f.gc)
	}
	return nil
}
