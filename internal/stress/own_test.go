package stress

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/testbed"
)

// own writes through hotrow itself, like any client, and reads back what it
// wrote: the next read on this node must show it, in the document that was
// written and in those that hold its row or have held it.
func (ws *writers) own(ctx context.Context, wg *sync.WaitGroup, s *stand, wait time.Duration) {
	ws.t.Helper()
	locks := testbed.Dial(ws.t, ws.url)
	roads := []road{s.road(0), s.road(1 + 2*rand.IntN(3))}
	wg.Go(func() {
		for testbed.Pause(ctx, wait) {
			k := 1 + rand.IntN(emps)
			lock := int64(lockEmp + k)
			if rand.IntN(2) == 0 {
				lock = int64(lockFlat + k)
			}
			bg := context.Background()
			if _, err := locks.Exec(bg, "SELECT pg_advisory_lock($1)", lock); err != nil {
				ws.t.Errorf("lock for a write through hotrow: %v", err)
				return
			}
			write := ws.world.ownEmp
			if lock < lockSide && lock >= lockFlat {
				write = ws.world.ownFlat
			}
			err := write(roads[rand.IntN(len(roads))], k)
			if _, unlock := locks.Exec(bg, "SELECT pg_advisory_unlock($1)", lock); unlock != nil {
				err = unlock
			}
			if err != nil {
				ws.t.Errorf("write through hotrow: %v", err)
				return
			}
			ws.through.Add(1)
		}
	})
}

// put writes one document through hotrow, as a change of its register.
func (w *world) put(c road, p *page, body string, change Change) error {
	commit := w.history.Begin([]Change{change})
	a, err := c.do("PUT", p.path(), body)
	if err != nil {
		return err
	}
	token, _ := a.position()
	if a.code != 200 && a.code != 201 || token.IsZero() {
		return fmt.Errorf("PUT %s: %d %v %s", p.path(), a.code, a.header, a.body)
	}
	commit.Done(uint64(token.Pos))
	return nil
}

// shows checks that a page tells the last state of a register. A refusal tells nothing: that
// there are none without faults is for the readers to find.
func (w *world) shows(c road, p *page, r *Register) error {
	a, err := c.get(p.path())
	if err != nil {
		return err
	}
	if a.code == 503 {
		return nil
	}
	looks, err := w.looks(p, a)
	if err != nil {
		return err
	}
	for _, l := range looks {
		if l.Register == r && !l.accepts(r.Last()) {
			return fmt.Errorf("GET %s after a write of one's own: %s: %s", p.path(), a.status(),
				l.describe())
		}
	}
	return nil
}

func (w *world) ownFlat(c road, k int) error {
	p, v := &page{table: "flat", key: int32(k)}, w.next()
	body := fmt.Sprintf(`{"id":%d,"value":%d}`, k, v)
	if err := w.put(c, p, body, Change{w.flat[k], State{Value: v}}); err != nil {
		return err
	}
	return w.shows(c, p, w.flat[k])
}

func (w *world) ownEmp(c road, k int) error {
	r, v := w.emp[k], w.next()
	from, to := r.Last().Parent, int32(1+rand.IntN(depts-emptyDepts))
	p := &page{table: "emp", key: int32(k)}
	body := fmt.Sprintf(`{"empno":%d,"value":%d,"deptno":%d}`, k, v, to)
	if err := w.put(c, p, body, Change{r, State{Value: v, Parent: to}}); err != nil {
		return err
	}
	pages := []*page{p, {table: "dept", key: to}}
	if from != 0 {
		pages = append(pages, &page{table: "dept", key: from})
	}
	for _, p := range pages {
		if err := w.shows(c, p, r); err != nil {
			return err
		}
	}
	return nil
}
