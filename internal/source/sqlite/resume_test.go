package sqlite

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

// A shelf is a checkpoint store that a test sets.
type shelf struct{ place source.Checkpoint }

func (s *shelf) Complete() (source.Checkpoint, bool) { return s.place, true }

// A resumer is a handler that can go on.
type resumer struct {
	*followed
	refuses bool
	resumed int // guarded by followed.mu
}

func (r *resumer) Resumed(string, source.Position) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuses {
		return false
	}
	r.resumed++
	return true
}

// again follows the file as another process would.
func again(t *testing.T, path string, kept source.Checkpoint, refuses bool) *resumer {
	t.Helper()
	s := openTest(t, path, Options{})
	feed, _, err := s.OpenFeed(t.Context(), source.FeedAuto, childWatch)
	if err != nil {
		t.Fatal(err)
	}
	feed.(source.Resumer).UseCheckpoints(&shelf{kept})
	r := &resumer{followed: &followed{t: t, feed: feed, done: make(chan error, 1)}, refuses: refuses}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.done <- feed.Run(ctx, r) }()
	t.Cleanup(func() { _ = r.end() })
	poll(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.origins)+r.resumed > 0
	})
	return r
}

// place returns from where the feed would go on, when that is past seq.
func (r *resumer) place(seq source.Position) source.Checkpoint {
	r.t.Helper()
	var p source.Checkpoint
	poll(r.t, func() bool {
		var ok bool
		p, ok = r.feed.(source.Resumer).Checkpoint(1 << 40)
		return ok && p.Pos >= seq
	})
	return p
}

func TestFeed_GoesOnWhereItStopped(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE"} {
		path, c := newFile(t, mode, childSchema...)
		installLog(t, openTest(t, path, Options{}), childWatch)
		r := again(t, path, source.Checkpoint{}, false)
		if r.resumed != 0 {
			t.Fatal("it goes on from nowhere")
		}
		kept := r.place(1)
		run(t, c, "UPDATE child SET parent = 5 WHERE id = 1") // seen, and not kept
		r.fence()
		_ = r.end()
		run(t, c, "UPDATE child SET parent = 6 WHERE id = 2") // nobody follows

		r = again(t, path, kept, false)
		txs := r.fence()
		if r.resumed != 1 || len(r.origins) != 0 || all(txs) ||
			!keys(txs, "parent")["5"] || !keys(txs, "parent")["6"] {
			t.Fatalf("%s: resumed %d times, began %d times, was told %+v", mode, r.resumed,
				len(r.origins), txs)
		}
		kept = r.place(kept.Pos + 2)
		_ = r.end()

		r = again(t, path, kept, false) // nothing was written
		if txs := r.fence(); r.resumed != 1 || len(txs) != 0 {
			t.Errorf("%s: resumed %d times, was told %+v", mode, r.resumed, txs)
		}
		_ = r.end()
	}
}

// TestFeed_PassesOwnWrites: writes of our own need not be read again.
func TestFeed_PassesOwnWrites(t *testing.T) {
	path, _ := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	installLog(t, s, childWatch)
	feed, _, err := s.OpenFeed(t.Context(), source.FeedAuto, childWatch)
	if err != nil {
		t.Fatal(err)
	}
	feed.(source.Resumer).UseCheckpoints(&shelf{})
	r := &resumer{followed: &followed{t: t, feed: feed}}
	r.start()
	defer func() { _ = r.end() }()
	before := r.place(1)
	if err := s.Exec(t.Context(), "UPDATE child SET parent = 9 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	r.place(before.Pos + 1)
}

// TestFeed_ResumeDoubts: whatever may be a gap is one.
func TestFeed_ResumeDoubts(t *testing.T) {
	tests := map[string]func(t *testing.T, path string, p *source.Checkpoint){
		"nothing kept":   func(_ *testing.T, _ string, p *source.Checkpoint) { *p = source.Checkpoint{} },
		"another origin": func(_ *testing.T, _ string, p *source.Checkpoint) { p.Origin = "x" },
		"set back":       func(_ *testing.T, _ string, p *source.Checkpoint) { p.Pos += 10 },
		"another row":    func(_ *testing.T, _ string, p *source.Checkpoint) { p.Note += "00" },
		"schema": func(t *testing.T, path string, _ *source.Checkpoint) {
			run(t, foreign(t, path), "CREATE TABLE more (id INTEGER PRIMARY KEY)")
		},
		"triggers gone for a while": func(t *testing.T, path string, _ *source.Checkpoint) {
			c := foreign(t, path)
			sql := text(t, c, "SELECT sql FROM sqlite_schema WHERE name = 'hotrow_child_update'")
			run(t, c, "DROP TRIGGER hotrow_child_update", "UPDATE child SET parent = 9", sql)
		},
		"trimmed": func(t *testing.T, path string, _ *source.Checkpoint) {
			run(t, foreign(t, path), "DELETE FROM hotrow_changes")
		},
		"given back from a copy and written differently": func(t *testing.T, path string,
			p *source.Checkpoint) {
			restore(t, path+".copy", path)
			run(t, foreign(t, path), "UPDATE child SET parent = 5 WHERE id = 1",
				"UPDATE child SET parent = 7 WHERE id = 2")
		},
	}
	for name, doubt := range tests {
		t.Run(name, func(t *testing.T) {
			path, c := newFile(t, "DELETE", childSchema...)
			s := openTest(t, path, Options{})
			installLog(t, s, childWatch)
			restore(t, path, path+".copy")
			r := again(t, path, source.Checkpoint{}, false)
			before := r.place(1)
			run(t, c, "UPDATE child SET parent = 5 WHERE id = 1")
			kept := r.place(before.Pos + 1)
			_ = r.end()
			doubt(t, path, &kept)
			r = again(t, path, kept, false)
			if r.resumed != 0 || len(r.origins) != 1 {
				t.Error("the feed goes on as if nothing had happened")
			}
			_ = r.end()
		})
	}
}

// restore copies a file over another, which stays the same file.
func restore(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

func TestFeed_ResumeOfAHandlerThatCannot(t *testing.T) {
	path, _ := newFile(t, "WAL", childSchema...)
	installLog(t, openTest(t, path, Options{}), childWatch)
	r := again(t, path, source.Checkpoint{}, false)
	kept := r.place(1)
	_ = r.end()
	if r = again(t, path, kept, true); len(r.origins) != 1 {
		t.Error("the feed did not begin anew")
	}
}
