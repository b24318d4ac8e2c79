package robust

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// A copier is a client of Redis that keeps copies, and believes what it is told: an answer
// is kept until a message says that it has changed, or the connection ends.
type copier struct {
	o    *oracle
	p    *program
	more *copies

	mu     sync.Mutex // guards what follows
	copies map[int]copied
	asked  []int // keys whose replies have not come
}

// A copied is a row as it was answered, and when that was.
type copied struct {
	v  int64
	at time.Time
}

// behind is how soon the message comes, behind its answer, that tells of a copy of which
// no feed tells: one that was flagged as stale.
const behind = 50 * time.Millisecond

// copies are what copiers count.
type copies struct {
	answers  atomic.Int64 // of hotrow
	local    atomic.Int64 // reads of copies
	told     atomic.Int64 // messages
	excused  atomic.Bool  // hotrow is stopped, and can tell nobody
	beat     atomic.Int64 // when this process was last seen to run in time, and when not,
	late     atomic.Int64 // in nanoseconds since 1970
	fault    atomic.Value // a string: what happens
	compared int
}

// heart notes when this process does not run: then it takes in nothing, and what it knows is
// as old as that.
func (n *copies) heart(ctx context.Context) {
	for last := time.Now(); ctx.Err() == nil; {
		pause(ctx, 10*time.Millisecond)
		now := time.Now()
		if now.Sub(last) > staleAfter {
			n.late.Store(now.UnixNano())
		}
		n.beat.Store(now.UnixNano())
		last = now
	}
}

// runs reports whether this process has run without a break for some seconds before a time.
func (n *copies) runs(at time.Time) bool {
	return at.UnixNano()-n.beat.Load() < int64(staleAfter) &&
		at.UnixNano()-n.late.Load() > int64(2*time.Second)
}

// work reads until ctx ends, and connects again when the connection has ended.
func (c *copier) work(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.session(ctx)
		c.mu.Lock()
		clear(c.copies)
		c.asked = nil
		c.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			c.o.failed.Add(1)
			pause(ctx, 10*time.Millisecond)
		}
	}
}

// session reads over one connection.
func (c *copier) session(ctx context.Context) error {
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.p.resp)
	if err != nil {
		return err
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { _ = nc.Close() })()
	if _, err := io.WriteString(nc, "HELLO 3\r\nCLIENT TRACKING ON\r\n"); err != nil {
		return err
	}
	r := bufio.NewReader(nc)
	for range 2 {
		if _, _, err := c.next(r); err != nil {
			return err
		}
	}
	room := make(chan struct{}, 64) // replies that are on their way at most
	ended := make(chan error, 1)
	go func() {
		for {
			is, text, err := c.next(r)
			if err != nil {
				_ = nc.Close()
				ended <- err
				return
			}
			if c.take(is, text) {
				<-room
			}
		}
	}()
	for {
		key := 1 + rand.IntN(c.o.keys)
		if rand.IntN(4) == 0 || !c.readCopy(key) {
			select {
			case room <- struct{}{}:
			case err := <-ended:
				return err
			}
			c.mu.Lock()
			delete(c.copies, key) // it is read anew
			c.asked = append(c.asked, key)
			_, err := fmt.Fprintf(nc, "*2\r\n$3\r\nGET\r\n$%d\r\nkv:%d\r\n", 3+len(strconv.Itoa(key)), key)
			c.mu.Unlock()
			if err != nil {
				return <-ended
			}
		}
	}
}

// readCopy reads a copy, if there is one. It is not older than the bound and a second,
// which is for the way.
func (c *copier) readCopy(key int) bool {
	begin := time.Now()
	excused := c.more.excused.Load()
	c.mu.Lock()
	held, kept := c.copies[key]
	v := held.v
	c.mu.Unlock()
	if !kept {
		return false
	}
	c.more.local.Add(1)
	if least := c.o.least(key, begin.Add(-staleAfter-time.Second)); v < least && !excused &&
		begin.Sub(held.at) > behind && !c.more.excused.Load() && c.more.runs(begin) {
		c.o.violate("%s: a copy of key %d is %d, and %d was acknowledged %v and a second before",
			c.more.fault.Load(), key, v, least, staleAfter)
	}
	return true
}

// take takes in a reply, or a message, which is no reply.
func (c *copier) take(is byte, text string) (reply bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if is == '>' {
		c.more.told.Add(1)
		keys := strings.Fields(strings.TrimPrefix(text, "invalidate "))
		for _, k := range keys {
			n, err := strconv.Atoi(strings.TrimPrefix(k, "kv:"))
			if err != nil { // null: anything may have changed
				clear(c.copies)
			}
			delete(c.copies, n)
		}
		return false
	}
	key := c.asked[0]
	c.asked = c.asked[1:]
	c.more.answers.Add(1)
	var row struct{ V int64 }
	switch {
	case is == '-' && strings.HasPrefix(text, "UNAVAILABLE"):
		c.o.refused.Add(1)
	case json.Unmarshal([]byte(text), &row) != nil:
		c.o.violate("key %d: %c%s", key, is, text)
	default:
		c.o.fresh.Add(1)
		c.copies[key] = copied{row.V, time.Now()}
	}
	return true
}

// next reads one reply or message: what it begins with, and its text. Parts have blanks
// between them.
func (c *copier) next(r *bufio.Reader) (is byte, text string, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '$':
		b := make([]byte, n+2)
		_, err = io.ReadFull(r, b)
		return '$', string(b[:n]), err
	case '%':
		n *= 2
	case '*', '>':
	case '_':
		return '_', "null", nil
	default:
		return line[0], line[1:], nil
	}
	var parts []string
	for range n {
		_, part, err := c.next(r)
		if err != nil {
			return 0, "", err
		}
		parts = append(parts, part)
	}
	return line[0], strings.Join(parts, " "), nil
}

// compare compares what is kept with the database, which nobody writes to.
func (c *copier) compare(has map[int]int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, held := range c.copies {
		c.more.compared++
		if held.v != has[key] {
			c.o.violate("%s: at rest a copy of key %d is %d, and the row %d",
				c.more.fault.Load(), key, held.v, has[key])
		}
	}
}

// answersEach is how many answers each fault of copiesKept is beside: a million together.
const answersEach = 170_000

// copiesKept: clients that keep copies, beside writers, while everything is killed, stopped
// and continued on which what they are told depends.
func copiesKept(t *testing.T) string {
	o, n := newOracle(t, 100), new(copies)
	d := newPostgres(t, o, nil)
	p := serve(t, d.config(setup{}), "HOTROW_RESP_LISTEN=127.0.0.1:0")
	p.awaitReady()
	reading, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	defer func() { stop(); readers.Wait() }()
	readers.Go(func() { n.heart(reading) })
	var clients []*copier
	for range 4 {
		c := &copier{o: o, p: p, more: n, copies: make(map[int]copied)}
		clients = append(clients, c)
		readers.Go(func() { c.work(reading) })
	}
	closed := func() { until(t, p.text, "a closed gate", func() bool { return !p.ready() }) }
	held := func() { closed(); pause(t.Context(), time.Second) }
	for _, f := range []struct {
		name  string
		fault func()
	}{
		{"none", func() {}},
		{"the feed is killed", func() {
			for range 5 {
				d.postgres.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_replication")
				pause(t.Context(), 200*time.Millisecond)
			}
		}},
		{"the feed is stopped", func() {
			pids := d.postgres.PauseSenders()
			held()
			d.postgres.Resume(pids...)
		}},
		{"the database is stopped", func() { d.freeze(); held(); d.thaw() }},
		{"the database is killed", func() { d.stop(dbtest.Immediate); held(); d.start() }},
		{"hotrow is stopped", func() {
			for range 3 {
				n.excused.Store(true)
				p.signal(syscall.SIGSTOP)
				pause(t.Context(), time.Second)
				p.signal(syscall.SIGCONT)
				pause(t.Context(), staleAfter+2*time.Second)
				n.excused.Store(false)
			}
		}},
	} {
		n.fault.Store(f.name)
		n.beside(t, o, d, p, f.fault)
		pause(t.Context(), staleAfter+time.Second)
		has := values(t, d.query)
		for _, c := range clients {
			c.compare(has)
		}
	}
	stop()
	readers.Wait()
	o.check()
	if n.compared < 500 {
		t.Errorf("%d copies compared: the row shows nothing", n.compared)
	}
	return fmt.Sprintf("%d answers, %d reads of copies, %d messages; at rest %d copies compared; %d"+
		" refused, %d cut; %d commits", n.answers.Load(), n.local.Load(), n.told.Load(), n.compared,
		o.refused.Load(), o.failed.Load(), o.commits.Load())
}

// beside has a fault happen beside writers, and waits for its end and for enough answers.
func (n *copies) beside(t *testing.T, o *oracle, d *database, p *program, fault func()) {
	writing, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	defer func() { stop(); writers.Wait() }()
	writers.Go(func() { o.write(writing, d.exec, time.Millisecond) })
	before, commits := n.answers.Load(), o.commits.Load()
	enough := func(share int64) func() bool {
		return func() bool {
			return n.answers.Load() >= before+answersEach*share/3 && o.commits.Load() >= commits+50*share
		}
	}
	until(t, p.text, "answers before the fault", enough(1))
	fault()
	p.awaitReady()
	until(t, p.text, "answers after it", enough(3))
}
