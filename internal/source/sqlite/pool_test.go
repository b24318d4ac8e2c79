package sqlite

import (
	"context"
	"testing"
)

// TestPool_OpensNoMoreThanAreUsed: each connection has the whole schema in memory, so that none
// is opened beside one that is free, and those that a burst has opened go when it is over. (All
// places were used in turn once: 16 schemas of 5,000 tables, for a reader at a time.)
func TestPool_OpensNoMoreThanAreUsed(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY)")
	s := openTest(t, path, Options{Readers: 8})
	p := s.readPool()
	reads := func(c *conn) error {
		_, err := c.integer(t.Context(), "SELECT count(*) FROM a")
		return err
	}
	for range 20 {
		if err := p.use(t.Context(), reads); err != nil {
			t.Fatal(err)
		}
	}
	if st := s.Stats(); st.Idle != 1 || st.InUse != 0 || st.Max != 8 {
		t.Errorf("after one reader at a time: %+v, want one connection", st)
	}
	if err := together(t.Context(), p, 5, reads); err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Idle != 5 || st.InUse != 0 {
		t.Errorf("after five readers: %+v, want five connections", st)
	}
	p.shrink() // from now on it is looked which are used
	if err := together(t.Context(), p, 2, reads); err != nil {
		t.Fatal(err)
	}
	if p.shrink(); s.Stats().Idle != 2 {
		t.Errorf("two were used since: %+v, want two connections", s.Stats())
	}
	if p.shrink(); s.Stats().Idle != 1 {
		t.Errorf("none was used since: %+v, want one connection", s.Stats())
	}
	if err := p.use(t.Context(), reads); err != nil {
		t.Error(err)
	}
}

// together has n readers use a connection each at the same time.
func together(ctx context.Context, p *pool, n int, fn func(*conn) error) error {
	if n == 0 {
		return nil
	}
	return p.use(ctx, func(c *conn) error {
		if err := fn(c); err != nil {
			return err
		}
		return together(ctx, p, n-1, fn)
	})
}

// TestWriter_SharesTheCatalogue: the tables are read once, by a connection that reads.
func TestWriter_SharesTheCatalogue(t *testing.T) {
	path, c := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY)")
	s := openTest(t, path, Options{})
	first := s.known.Load()
	if w := s.writerNow(); first == nil || w.known != first {
		t.Error("the writer has another catalogue than the readers")
	}
	run(t, c, "CREATE TABLE b (id integer PRIMARY KEY)")
	if err := s.Exec(t.Context(), "INSERT INTO b VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	now := s.known.Load()
	if now == first || now.named["b"] == nil || s.writerNow().known != now {
		t.Error("the writer does not share what has changed")
	}
}
