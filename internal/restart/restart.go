// Package restart asks a server for rows without a pause, over each of its protocols,
// while it is restarted, and counts what fails. Its clients do what those that people
// use do: one whose connection ends opens another, and asks there once more what was
// not answered, for it only reads. A refused connection, an error, a wrong answer and
// one that does not come in time are failures.
package restart

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Load says what is asked for.
type Load struct {
	HTTP, Wire, RESP string // addresses, HOST:PORT; "": not asked

	Resource string // GET /RESOURCE/n, RESOURCE:n
	Keys     int    // n is 1 to Keys
	Want     string // what documents begin with, {n} being the key
	Clients  int    // of each protocol, each with one question (RESP: a batch) at a time

	// Answered is called after each answer, if not nil, by all clients at once.
	Answered func(protocol string)
}

// A Count is what has become of the questions over one protocol.
type Count struct {
	Protocol string        `json:"protocol"`
	Answers  int64         `json:"answers"`
	Again    int64         `json:"asked_again"` // over another connection
	Failed   int64         `json:"failed"`
	Longest  time.Duration `json:"-"`
	Millis   int64         `json:"longest_ms"` // Longest, from question to answer
	Error    string        `json:"error,omitempty"`
}

// patience is how long a client waits for an answer.
const patience = 15 * time.Second

// An asker is one client.
type asker interface {
	// ask asks for documents and returns them, each of which is good until the next call.
	ask(keys []int) ([][]byte, error)
	again() int64
	close()
}

// Run asks until ctx ends, and returns what came of it, a line for each protocol.
func (l Load) Run(ctx context.Context) []Count {
	type protocol struct {
		name, address string
		batch         int
		open          func(Load) asker
	}
	var counts []*counter
	var all sync.WaitGroup
	for _, p := range []protocol{
		{"http", l.HTTP, 1, newHTTP}, {"wire", l.Wire, 1, newWire}, {"resp", l.RESP, 16, newRESP},
	} {
		if p.address == "" {
			continue
		}
		c := &counter{Count: Count{Protocol: p.name}}
		counts = append(counts, c)
		for i := range l.Clients {
			a := p.open(l)
			all.Go(func() { l.work(ctx, a, c, i, p.batch) })
		}
	}
	all.Wait()
	var list []Count
	for _, c := range counts {
		c.Millis = c.Longest.Milliseconds()
		list = append(list, c.Count)
	}
	return list
}

// A counter is a Count that several clients add to.
type counter struct {
	mu sync.Mutex // guards Count
	Count
}

// work is one client.
func (l Load) work(ctx context.Context, a asker, c *counter, i, batch int) {
	defer a.close()
	var answers, failed int64
	var longest time.Duration
	var first error
	keys := make([]int, batch)
	for n := i; ctx.Err() == nil; {
		for k := range keys {
			keys[k] = n%l.Keys + 1
			n += 7
		}
		began := time.Now()
		docs, err := a.ask(keys)
		longest = max(longest, time.Since(began))
		for k := 0; k < len(docs) && err == nil; k++ {
			want := strings.ReplaceAll(l.Want, "{n}", strconv.Itoa(keys[k]))
			if !strings.HasPrefix(string(docs[k]), want) {
				err = fmt.Errorf("key %d: %.60q", keys[k], docs[k])
			}
		}
		if err != nil {
			if failed++; first == nil {
				first = err
			}
			continue
		}
		if answers += int64(batch); l.Answered != nil {
			l.Answered(c.Protocol)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Answers += answers
	c.Failed += failed
	c.Again += a.again()
	c.Longest = max(c.Longest, longest)
	if first != nil && c.Error == "" {
		c.Error = first.Error()
	}
}
