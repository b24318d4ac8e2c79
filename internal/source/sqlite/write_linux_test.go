package sqlite

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/source"
)

// What a write does, it does on a thread that lets all others pass.
func TestWrite_LetsOthersPass(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE a (id integer PRIMARY KEY)",
		"INSERT INTO a VALUES (1)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Name: "a", Table: "a"})
	const schedIdle = 5 // sched(7)
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
