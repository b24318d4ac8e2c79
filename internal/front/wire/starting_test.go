package wirefront

import (
	"testing"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front/fronttest"
)

// TestSite_TablesBecomeKnownDuringALookup: what is not found while nobody knows the tables is
// to be asked for again, and not absent.
func TestSite_TablesBecomeKnownDuringALookup(t *testing.T) {
	var forget func()
	s := newSite(t, func(o *Options, _ *Listen) {
		forget, o.Starting = fronttest.BecomeKnown(t, o.Resources, siteResources())
	})
	p := s.dial("")
	get, list := rows.Get{Resource: "depts", Key: "10"}, rows.Query{Resource: "depts", Limit: 1}
	many := rows.GetMulti{Resource: "depts", Keys: []string{"10", "20"}}
	for id, payload := range map[uint64][]byte{rows.IDGet: get.Append(nil), rows.IDQuery: list.Append(nil),
		rows.IDGetMulti: many.Append(nil)} {
		forget()
		_, fault := p.call(id, payload)
		p.want(fault, gofast.Unavailable, "starting")
	}
	if a, code := p.get(get); code != gofast.OK || a.State != rows.Found {
		t.Errorf("when they are known: %v %+v", code, a)
	}
	get.Resource = "nothing"
	_, fault := p.call(rows.IDGet, get.Append(nil))
	p.want(fault, gofast.NotFound, "not-found")
}
