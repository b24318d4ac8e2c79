package apps

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// kept says which writes the answer to a question outlives in memory.
type kept int

const (
	precise kept = iota // those of rows that it does not find
	coarse              // none to its tables
	refused             // there is no answer
)

// A question is what a program asks.
type question struct {
	asks string // in words
	path string
	kept kept
	why  string // it is not precise

	prefer string // the Prefer header
	next   bool   // the page that follows path is what is asked for

	other  string // a write of another row of the table: the answer stays the same
	change string // a write that changes the answer
}

// A program is one whose questions are asked.
type program struct {
	name      string // and its database
	questions []question
}

// programs are all of them, in the order of the page.
func programs() []program {
	return []program{
		{"Chinook (SQLite, PostgreSQL)", chinook}, {"Sakila (MariaDB)", sakila},
		{"WordPress (MariaDB)", wordpress}, {"Mastodon (PostgreSQL)", mastodon},
	}
}

// ask asks the questions, and says how soon what was written was seen.
func (s *server) ask(t *testing.T, questions []question) {
	t.Helper()
	var took []time.Duration
	for i := range questions {
		q := &questions[i]
		t.Run(strings.ReplaceAll(q.asks, " ", "_"), func(t *testing.T) {
			of := s.t
			s.t = t
			defer func() { s.t = of }()
			if d := s.check(q); d > 0 {
				took = append(took, d)
			}
		})
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		t.Logf("%d writes seen: median %v, p99 and longest %v, from the commit to a new answer", n,
			took[n/2].Round(10*time.Microsecond), took[n-1].Round(10*time.Microsecond))
	}
}

// check asks one question, proves what is said of it, and returns how soon a write that
// changes the answer was seen.
func (s *server) check(q *question) time.Duration {
	s.t.Helper()
	var headers []string
	if q.prefer != "" {
		headers = []string{"Prefer: " + q.prefer}
	}
	a := s.get(q.path, headers...)
	if q.kept == refused {
		if a.code != http.StatusBadRequest || !strings.Contains(a.body, "unindexed-filter") {
			s.t.Errorf("%s: %d %s, want 400 unindexed-filter", q.path, a.code, a.body)
		}
		return 0
	}
	if a.code >= http.StatusMultipleChoices || len(a.body) < 10 && !strings.Contains(q.asks, "none") {
		s.t.Fatalf("%s: %d %q, want an answer with rows", q.path, a.code, a.body)
	}
	path := q.path
	if q.next {
		if path = a.next; path == "" {
			s.t.Fatalf("%s: no page follows", q.path)
		}
	}
	get := func() answer { return s.get(path, headers...) }
	warm := func() (a answer) {
		s.t.Helper()
		s.until("keep "+path, func() bool { a = get(); return a.hit })
		return a
	}
	s.outlives(q, warm, get)
	before := warm().body
	s.commit(q.change)
	begin := time.Now()
	var after answer
	s.until("see "+q.change, func() bool { after = get(); return after.body != before })
	took := time.Since(begin)
	s.applied()
	now, is := warm().body, s.get(path, append(headers, "Cache-Control: no-cache")...).body
	if now != is {
		s.t.Errorf("%s is stale: memory has\n%s\nthe database\n%s", path, now, is)
	}
	return took
}

// outlives proves whether a write of another row leaves the answer in memory. That it may
// is tried some times: a feed that could not keep up for a moment lets all go, which on a
// busy machine is for longer than a few tries take.
func (s *server) outlives(q *question, warm, get func() answer) {
	s.t.Helper()
	tries, done, hits := 4, 0, 0
	if q.kept == precise {
		tries = 60
	}
	s.until("see what "+q.other+" leaves", func() bool {
		before := warm().body
		s.commit(q.other)
		s.applied()
		after := get()
		if after.body != before {
			s.t.Fatalf("%s has changed by %s: it is of no other row", q.path, q.other)
		}
		if after.hit {
			hits++
		}
		done++
		return done == tries || hits > 0 && q.kept == precise
	})
	switch {
	case q.kept == precise && hits == 0:
		s.t.Errorf("%s: %d times %s, and the answer was read again each time", q.path, tries, q.other)
	case q.kept != precise && hits > 0:
		s.t.Errorf("%s outlives %s: it is precise now", q.path, q.other)
	}
}
