package clicks

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hotrow/hotrow/internal/links/clicklog"
)

// liveEvents is how many events the ring holds.
const liveEvents = 4096

// An Event is one click as live followers see it.
type Event struct {
	Seq      clicklog.Seq
	At       int64
	Link     int64 // 0: an orphan
	Kind     Kind
	IP       netip.Addr // as far as it is kept; invalid: it is not
	Country  string
	Browser  string
	OS       string
	Device   string
	Referrer string // its host, Direct or DimOther
	Path     string
}

// event returns what followers see of a click.
func (c *click) event() Event {
	e := Event{Seq: c.seq, At: c.at, Link: c.link, Kind: c.kind, Country: c.country,
		Browser: c.agent.browser, OS: c.agent.os, Device: c.agent.device, Referrer: Direct,
		Path: c.path}
	if c.ref != nil {
		e.Referrer = c.ref.host
	}
	e.IP, _ = netip.AddrFromSlice(c.ip)
	return e
}

// A live is the ring of the last events, and who waits for more.
type live struct {
	mu     sync.Mutex // guards what follows
	ring   []Event
	next   uint64 // of all events, the number of the next one
	fronts fronts // up to where events have been published
	wake   chan struct{}
	dir    clicklog.ID
}

// publish adds an event; l.mu is held.
func (l *live) publish(e Event) {
	if len(l.ring) < liveEvents {
		l.ring = append(l.ring, e)
	} else {
		l.ring[l.next%liveEvents] = e
	}
	l.next++
}

// published wakes those who wait; l.mu is held.
func (l *live) published() {
	close(l.wake)
	l.wake = make(chan struct{})
}

// A Subscription follows clicks as they come, up to a fifth of a second after
// them. It is for one goroutine.
type Subscription struct {
	d     *Drainer
	at    uint64           // the number of the next event of the ring
	past  *clicklog.Reader // what was before the ring; nil: that has been read
	until fronts           // where past ends
	seen  fronts
	raw   clicklog.Batch
	queue []Event
	lost  uint64
}

// ErrToken is what Subscribe returns for a token that it has not made.
var ErrToken = errors.New("not a position of the click log")

// Subscribe follows clicks from now on, or from where a token of Position says, as
// far as the log still has what came after it.
func (d *Drainer) Subscribe(token string) (*Subscription, error) {
	from, err := d.parseToken(token)
	if err != nil {
		return nil, err
	}
	l := &d.live
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &Subscription{d: d, at: l.next, seen: make(fronts)}
	for k, seq := range l.fronts {
		s.seen[k] = seq
	}
	if len(from) == 0 {
		return s, nil
	}
	s.until = make(fronts)
	for k, seq := range l.fronts {
		s.until[k] = seq
	}
	for _, c := range from {
		s.seen[[2]int{c.Node, c.Writer}] = c.Seq
	}
	s.past = d.click.NewReader(d.tips(s.until))
	for _, c := range from {
		s.past.Seek(c)
	}
	return s, nil
}

// tips returns fronts as cursors.
func (d *Drainer) tips(f fronts) []clicklog.Cursor {
	list := make([]clicklog.Cursor, 0, len(f))
	for k, seq := range f {
		list = append(list, clicklog.Cursor{Node: k[0], Writer: k[1], Dir: d.click.ID(), Seq: seq})
	}
	return list
}

// Next waits for events and returns some, in the order in which they were read
// from the log. It returns the context's error when that ends.
func (s *Subscription) Next(ctx context.Context) ([]Event, error) {
	for {
		list, wake, err := s.poll()
		if err != nil || len(list) > 0 {
			return list, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// poll returns the events that are there.
func (s *Subscription) poll() ([]Event, <-chan struct{}, error) {
	s.queue = s.queue[:0]
	for s.past != nil {
		if err := s.readPast(); err != nil || len(s.queue) > 0 {
			return s.queue, nil, err
		}
	}
	l := &s.d.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if oldest := l.next - uint64(len(l.ring)); s.at < oldest {
		s.lost += oldest - s.at
		s.at = oldest
	}
	for ; s.at < l.next; s.at++ {
		s.queue = append(s.queue, l.ring[s.at%liveEvents])
	}
	for _, e := range s.queue {
		s.seen[[2]int{e.Seq.Node(), e.Seq.Writer()}] = e.Seq + 1
	}
	return s.queue, l.wake, nil
}

// readPast reads some of what was before the ring from the log.
func (s *Subscription) readPast() error {
	n, err := s.past.Read(&s.raw, 256)
	if err != nil {
		return fmt.Errorf("read past clicks: %w", err)
	}
	s.d.meaning.Lock()
	var c click
	for i := range s.raw.Records {
		if r := &s.raw.Records[i]; r.Seq < s.until.at(r.Seq) {
			s.d.meanings.read(r, &c)
			s.queue = append(s.queue, c.event())
			s.seen[[2]int{r.Seq.Node(), r.Seq.Writer()}] = r.Seq + 1
		}
	}
	s.d.meaning.Unlock()
	if n == 0 && len(s.raw.Moves) == 0 || len(s.queue) == 0 {
		s.past = nil
	}
	return nil
}

// Lost returns how many events were missed because Next was not called for longer
// than the ring lasts.
func (s *Subscription) Lost() uint64 { return s.lost }

// Position returns a token from which Subscribe goes on behind the events that
// Next has returned.
func (s *Subscription) Position() string {
	parts := []string{s.d.click.ID().String()[:8]}
	for _, c := range s.d.tips(s.seen) {
		parts = append(parts, strconv.FormatUint(uint64(c.Seq), 36))
	}
	slices.Sort(parts[1:])
	return strings.Join(parts, ".")
}

// parseToken is the reverse of Position. A token of another log, which has been
// replaced since, is an empty one: what it stood for is gone.
func (d *Drainer) parseToken(token string) ([]clicklog.Cursor, error) {
	if token == "" {
		return nil, nil
	}
	dir, rest, _ := strings.Cut(token, ".")
	if len(dir) != 8 || len(token) > 2000 {
		return nil, ErrToken
	}
	var list []clicklog.Cursor
	for _, part := range strings.Split(rest, ".") {
		n, err := strconv.ParseUint(part, 36, 63)
		if err != nil {
			return nil, ErrToken
		}
		seq := clicklog.Seq(n)
		list = append(list, clicklog.Cursor{Node: seq.Node(), Writer: seq.Writer(),
			Dir: d.click.ID(), Seq: seq})
	}
	if dir != d.click.ID().String()[:8] {
		return nil, nil
	}
	return list, nil
}
