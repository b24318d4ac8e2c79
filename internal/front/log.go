package front

import (
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// A Limiter lets ten events of each second pass: an outage must not become an
// outage of the log. The zero value is ready.
type Limiter struct {
	state atomic.Int64 // the second * 16 + the events in it
}

// Allow reports whether an event at now passes.
func (l *Limiter) Allow(now time.Time) bool {
	second := now.Unix()
	for {
		old := l.state.Load()
		next := second << 4
		if old>>4 == second {
			if old&15 >= 10 {
				return false
			}
			next = old
		}
		if l.state.CompareAndSwap(old, next+1) {
			return true
		}
	}
}

// Clip returns s, or about its first n bytes, as valid UTF-8: what goes back to
// a client in an error need not be all of what it sent.
func Clip(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
