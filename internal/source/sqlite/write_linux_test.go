package sqlite

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

const schedIdle = 5 // sched(7)

// What a write does, it does on a thread that lets all others pass.
func TestWrite_LetsOthersPass(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY)",
		"INSERT INTO a VALUES (1)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Name: "a", Table: "a"})
	refused := errors.New("refused")
	for range 1000 { // on a busy machine it starves now and then, and is as others then
		var now *unix.SchedAttr
		_, err := p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: "1",
			Check: func(*source.Loaded) (err error) {
				if now, err = unix.SchedGetAttr(0, 0); err == nil {
					err = refused
				}
				return err
			}})
		if !errors.Is(err, refused) {
			t.Fatal(err)
		}
		if now.Policy == schedIdle {
			return
		}
	}
	t.Error("the thread of a write never had SCHED_IDLE")
}

// What becomes of copies it does as any other thread: a cache's readers may spin for it.
func TestWrite_HurriesWithCopies(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY)",
		"INSERT INTO a VALUES (1), (2), (3), (4), (5), (6), (7), (8)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Name: "a", Table: "a"})
	for _, key := range []row.Key{"1", "2", "3", "4", "5", "6", "7", "8"} {
		var now *unix.SchedAttr
		var schedErr error
		_, err := p.Write(t.Context(), &source.Write{Op: source.OpDelete, Key: key,
			Touch: func([]source.Change, source.Position) { now, schedErr = unix.SchedGetAttr(0, 0) }})
		if err != nil || schedErr != nil {
			t.Fatal(err, schedErr)
		}
		if now == nil || now.Policy == schedIdle {
			t.Errorf("copies of a/%s are dropped by a thread of %+v", key, now)
		}
	}
}
