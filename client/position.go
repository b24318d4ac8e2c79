package client

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// positions are the newest position that was written in each source. A position
// is "hr1.SOURCE.ORIGIN.HEX"; only those of one source and origin have an order.
type positions struct {
	mu     sync.Mutex // guards newest, and orders stores to joined
	newest map[string]position
	joined atomic.Pointer[string] // all of them with commas, as a header wants them
}

// A position is one token taken apart.
type position struct {
	text   string
	origin string
	at     uint64
}

// text returns the positions, with commas between them.
func (p *positions) text() string {
	if s := p.joined.Load(); s != nil {
		return *s
	}
	return ""
}

// wroteAll takes in several positions with commas between them.
func (p *positions) wroteAll(tokens string) {
	for token := range strings.SplitSeq(tokens, ",") {
		p.wrote(token)
	}
}

// wrote takes in a position. What is not one is ignored: servers without a feed
// give none.
func (p *positions) wrote(token string) {
	source, next, ok := parsePosition(token)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old, known := p.newest[source]; known && old.origin == next.origin && old.at >= next.at {
		return
	}
	if p.newest == nil {
		p.newest = make(map[string]position, 1)
	}
	p.newest[source] = next
	all := make([]string, 0, len(p.newest))
	for _, one := range p.newest {
		all = append(all, one.text)
	}
	text := strings.Join(all, ",")
	p.joined.Store(&text)
}

// parsePosition takes a token apart; parameters after a semicolon are left out.
func parsePosition(token string) (source string, p position, ok bool) {
	token, _, _ = strings.Cut(token, ";")
	token = strings.TrimSpace(token)
	parts := strings.Split(token, ".")
	if len(parts) != 4 || parts[0] != "hr1" {
		return "", position{}, false
	}
	at, err := strconv.ParseUint(parts[3], 16, 64)
	if err != nil {
		return "", position{}, false
	}
	return parts[1], position{text: token, origin: parts[2], at: at}, true
}
