package wirefront

import (
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front/fronttest"
)

// TestStale_IsSaid: an answer that may be old says so, also that there is no row.
func TestStale_IsSaid(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		faults := new(fronttest.Faults)
		db := fronttest.Open(t, fronttest.More{StaleAfter: time.Second, Faults: faults})
		s := newSite(t, form, func(o *Options, _ *Listen) { o.Resources = db.Set })
		p := s.dial("")
		p.hot("depts", "10")
		none := rows.Get{Resource: "depts", Key: "99"}
		eventually(t, "a hit of what is not there", func() bool {
			a, _ := p.get(none)
			return a.Origin == rows.HitMemory
		})
		faults.Lag(true)
		eventually(t, "the gate is closed", func() bool { return db.Set.Ready() != nil })
		db.Exec("UPDATE dept SET loc = 'ELSEWHERE' WHERE deptno = 10",
			"INSERT INTO dept VALUES (99, 'NEW', NULL, NULL)")
		for _, down := range []bool{false, true} {
			faults.Down.Store(down)
			for _, g := range []rows.Get{{Resource: "depts", Key: "10"}, none} {
				if a, code := p.get(g); code != gofast.OK || a.Origin != rows.Stale {
					t.Errorf("down %v: key %s: code %v, origin %v", down, g.Key, code, a.Origin)
				}
			}
		}
	})
}
