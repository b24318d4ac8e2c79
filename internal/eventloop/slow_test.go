package eventloop

import (
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// TestLoop_SurvivesSlowPeers has a crowd that sends a byte now and then
// (Slowloris), and another that reads so. Both are cut by Header and Write, and
// until then nobody else notices.
func TestLoop_SurvivesSlowPeers(t *testing.T) {
	const senders, readers = 150, 50
	c := Config{Header: time.Second, Write: time.Second, Idle: time.Minute}
	eachAtOnce(t, []string{"epoll", "goroutine", "tls"}, c, func(t *testing.T, s *site) {
		var running sync.WaitGroup
		defer running.Wait()
		over := make(chan struct{})
		defer close(over)
		start := time.Now()
		slow := func(step func(*client) error) {
			c := s.dial(t)
			running.Go(func() {
				defer c.Close()
				beat := time.NewTicker(100 * time.Millisecond)
				defer beat.Stop()
				for step(c) == nil {
					select {
					case <-beat.C:
					case <-over: // what the kernel keeps would last for hours
						return
					}
				}
			})
		}
		head := strings.NewReplacer("\r\n\r\n", "").Replace(get("/hit/1"))
		for range senders {
			rest := head + strings.Repeat("x", 1000) // never ends
			slow(func(c *client) error {
				_, err := io.WriteString(c, rest[:1])
				rest = rest[1:]
				return err
			})
		}
		for range readers {
			var asked atomic.Bool
			slow(func(c *client) error {
				if !asked.Swap(true) {
					c.small()
					running.Go(func() { // 200 MB of answers, if they were made
						_, _ = io.WriteString(c, strings.Repeat(get("/hit/100000:x"), 2000))
					})
				}
				_, err := c.Conn.Read(make([]byte, 1))
				return err
			})
		}
		other := s.dial(t)
		var waits []time.Duration
		eventually(t, "the slow ones are cut", func() bool {
			asked := time.Now()
			other.send(get("/hit/2") + get("/miss/3"))
			other.want(200, "hit 2")
			other.want(200, "miss 3")
			waits = append(waits, time.Since(asked))
			n := s.server.Stats()
			return n.TimedOut >= senders+readers && n.Open == 1
		})
		took := time.Since(start)
		slices.Sort(waits)
		median := waits[len(waits)/2]
		t.Logf("%d answers in %v, median %v", 2*len(waits), took, median)
		if waittest.Late(median, 500*time.Millisecond) {
			t.Errorf("others wait %v", median)
		}
		if n := s.server.Stats(); n.TimedOut != senders+readers {
			t.Errorf("after %v: %+v", took, n)
		}
	})
}
