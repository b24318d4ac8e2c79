package wirefront

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

func TestGet_FindsDocuments(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form)
		p := s.dial("")
		a, code := p.get(rows.Get{Resource: "depts", Key: "10"})
		if code != gofast.OK || string(a.Body) !=
			`{"deptNumber":10,"dname":"ACCOUNTING","loc":"NEW YORK"}` || a.ETag == "" {
			t.Fatalf("%v %+v %s", code, a, a.Body)
		}
		hit := p.hot("depts", "10")
		if hit.ETag != a.ETag || string(hit.Body) != string(a.Body) || hit.Position == "" {
			t.Errorf("a hit: %+v", hit)
		}
		same, _ := p.get(rows.Get{Resource: "depts", Key: "10", IfNoneMatch: hit.ETag})
		if same.State != rows.NotModified || len(same.Body) != 0 || same.ETag != hit.ETag {
			t.Errorf("not modified: %+v", same)
		}
		pack, _ := p.get(rows.Get{Resource: "depts", Key: "10", Format: rows.MsgPack})
		if len(pack.Body) == 0 || pack.Body[0] != 0x83 || !row.SameETag(pack.ETag, hit.ETag) {
			t.Errorf("MessagePack: %+v %x", pack, pack.Body)
		}
		if a, _ = p.get(rows.Get{Resource: "depts", Key: "010"}); a.Key != "10" {
			t.Errorf("another spelling: %+v", a)
		}
		if a, _ = p.get(rows.Get{Resource: "cities", Key: "a%2Cb,c/d"}); a.State != rows.Found {
			t.Errorf("a composite key: %+v", a)
		}
		for range 2 { // from the database, then from memory
			if a, _ = p.get(rows.Get{Resource: "depts", Key: "99"}); a.State != rows.Absent {
				t.Errorf("no row: %+v", a)
			}
		}
	})
}

func TestGet_RefusesWhatCannotBe(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	for _, tt := range []struct {
		g    rows.Get
		code gofast.Code
		kind string
	}{
		{rows.Get{Resource: "nothing", Key: "1"}, gofast.NotFound, "not-found"},
		{rows.Get{Resource: "closed", Key: "10"}, gofast.PermissionDenied, "forbidden"},
		{rows.Get{Resource: "pay", Key: "1"}, gofast.Unauthenticated, "unauthorized"},
		{rows.Get{Resource: "depts", Key: "x"}, gofast.InvalidArgument, "bad-key"},
		{rows.Get{Resource: "depts", Key: "10", Min: "x"}, gofast.InvalidArgument, "bad-header"},
		{rows.Get{Resource: "depts", Key: "20", Flags: rows.OnlyIfCached}, gofast.Unavailable,
			"not-cached"},
		{rows.Get{Resource: "depts", Key: "10", Flags: rows.OnlyIfCached | rows.NoCache},
			gofast.Unavailable, "not-cached"},
	} {
		_, fault := p.call(rows.IDGet, tt.g.Append(nil))
		p.want(fault, tt.code, tt.kind)
	}
	_, fault := p.call(rows.IDGet, []byte("junk"))
	p.want(fault, gofast.InvalidArgument, "bad-message")
	_, fault = p.call(99, nil)
	p.want(fault, gofast.Unimplemented, "unknown-message")
	_, fault = p.call(rows.IDEchoRequest, rows.AppendEcho(nil, nil)) // perf is off
	p.want(fault, gofast.Unimplemented, "unknown-message")
	if a := p.hot("depts", "10"); a.State != rows.Found {
		t.Errorf("after all that: %+v", a)
	}
}

// TestGet_BurstIsOneQuery: the misses that came together are read together.
func TestGet_BurstIsOneQuery(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form)
		p := s.dial("")
		loads := func() uint64 { return s.set.Stats().Sources[0].Timings["load"].Count }
		before := loads()
		var out []byte
		var opaques []uint64
		for _, key := range []string{"10", "20", "x", "30", "40", "99"} {
			g := rows.Get{Resource: "depts", Key: key}
			if key == "x" && testing.Short() {
				continue
			}
			var opaque uint64
			var err error
			out, opaque, err = p.s.AppendRequest(out, &gofast.Message{ID: rows.IDGet,
				Data: g.Append(nil)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if key != "x" {
				opaques = append(opaques, opaque)
			}
		}
		p.write(out)
		for i, opaque := range opaques {
			var a rows.Answer
			if err := a.Decode(p.next(opaque).data); err != nil || i < 4 && a.State != rows.Found {
				t.Errorf("answer %d: %+v, %v", i, a, err)
			}
		}
		// The bad key spoils the batch, which was sent by then, or not at all.
		if n := loads() - before; n > 6 || s.f.Stats().Batches == 0 {
			t.Errorf("%d queries, %d batches", n, s.f.Stats().Batches)
		}
	})
}

func TestGetMulti_IsOneQuery(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	g := rows.GetMulti{Resource: "depts", Keys: []string{"10", "99", "20", "10"}}
	loads := func() uint64 { return s.set.Stats().Sources[0].Timings["load"].Count }
	call := func() {
		t.Helper()
		data, fault := p.call(rows.IDGetMulti, g.Append(nil))
		if fault != nil {
			t.Fatal(fault)
		}
		list, err := rows.DecodeAnswers(data)
		if err != nil || len(list) != 4 || list[1].State != rows.Absent ||
			!strings.Contains(string(list[2].Body), "RESEARCH") || list[3].ETag != list[0].ETag {
			t.Fatalf("%+v, %v", list, err)
		}
	}
	before := loads()
	call()
	if n := loads() - before; n != 1 {
		t.Errorf("%d queries, want 1", n)
	}
	eventually(t, "the loop answers, with no query", func() bool { // it may not while the feed is late
		before := loads()
		call()
		return loads() == before
	})
	_, fault := p.call(rows.IDGetMulti, (&rows.GetMulti{Resource: "depts",
		Keys: make([]string, rows.MaxKeys+1)}).Append(nil))
	p.want(fault, gofast.InvalidArgument, "bad-message")
}

func TestQuery_Pages(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	var keys []string
	q := rows.Query{Resource: "depts", Limit: 3}
	for pages := 1; ; pages++ {
		data, fault := p.call(rows.IDQuery, q.Append(nil))
		if fault != nil {
			t.Fatal(fault)
		}
		var page rows.Page
		if err := page.Decode(data); err != nil {
			t.Fatal(err)
		}
		for _, a := range page.Answers {
			keys = append(keys, a.Key)
		}
		if !page.More {
			break
		}
		q.After = keys[len(keys)-1]
	}
	if got := fmt.Sprint(keys); got != "[10 20 30 40]" {
		t.Errorf("keys %s", got)
	}
	_, fault := p.call(rows.IDQuery, (&rows.Query{Resource: "depts", Limit: 4}).Append(nil))
	p.want(fault, gofast.InvalidArgument, "bad-query")
	_, fault = p.call(rows.IDQuery, (&rows.Query{Resource: "pay"}).Append(nil))
	p.want(fault, gofast.Unauthenticated, "unauthorized")
}

// ask sends a Query with a filter.
func (p *peer) ask(resource, filter string) (page rows.Page) {
	p.t.Helper()
	data, fault := p.call(rows.IDQuery, (&rows.Query{Resource: resource, Filter: filter}).Append(nil))
	if fault != nil {
		p.t.Fatal(fault)
	}
	if err := page.Decode(data); err != nil {
		p.t.Fatal(err)
	}
	return page
}

// What a filter finds comes from memory, follows changes, and goes on where the page says.
func TestQuery_Filters(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	const filter = "deptno=gt.10&order=deptno.desc&limit=2"
	var page rows.Page
	eventually(t, "memory has the list", func() bool {
		page = p.ask("depts", filter)
		return page.Answers[0].Origin == rows.HitMemory
	})
	if len(page.Answers) != 2 || page.Answers[0].Key != "40" || !page.More ||
		page.Answers[0].Position == "" || page.Answers[0].ETag == "" {
		t.Errorf("%+v", page)
	}
	if next := p.ask("depts", page.Next); len(next.Answers) != 1 || next.More || next.Next != "" ||
		next.Answers[0].Key != "20" {
		t.Errorf("the page that follows by %s: %+v", page.Next, next)
	}
	some := p.ask("depts", "deptno=eq.20&select=n:deptno")
	if len(some.Answers) != 1 || string(some.Answers[0].Body) != `{"n":20}` ||
		some.Answers[0].ETag != "" {
		t.Errorf("columns: %+v", some)
	}
	if none := p.ask("depts", "deptno=eq.77"); len(none.Answers) != 0 || none.More {
		t.Errorf("%+v", none)
	}
	if err := s.src.Exec(t.Context(), "DELETE FROM dept WHERE deptno = 40"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the list follows another writer", func() bool {
		return p.ask("depts", filter).Answers[0].Key == "30"
	})
	for _, q := range []rows.Query{
		{Resource: "depts", Filter: "nope=eq.1"},
		{Resource: "depts", Filter: "deptno=eq.x"},
		{Resource: "depts", Filter: "deptno=eq.20&format=cbor"},
		{Resource: "depts", Filter: "deptno=eq.20", Limit: 1},
		{Resource: "depts", Filter: "deptno=eq.20", After: "1"},
	} {
		_, fault := p.call(rows.IDQuery, q.Append(nil))
		p.want(fault, gofast.InvalidArgument, "bad-query")
	}
	_, fault := p.call(rows.IDQuery, (&rows.Query{Resource: "pay", Filter: "id=gt.0"}).Append(nil))
	p.want(fault, gofast.Unauthenticated, "unauthorized")
}

// Rows of other resources are embedded for those who may read these.
func TestQuery_Embeds(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	const filter = "select=id,depts(dname)"
	var page rows.Page
	eventually(t, "memory has the list", func() bool {
		page = p.ask("works", filter)
		return page.Answers[0].Origin == rows.HitMemory
	})
	if got := string(page.Answers[0].Body); got != `{"id":1,"depts":{"dname":"RESEARCH"}}` {
		t.Error(got)
	}
	if err := s.src.Exec(t.Context(), "UPDATE dept SET dname = 'X' WHERE deptno = 20"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the list follows another writer", func() bool {
		return string(p.ask("works", filter).Answers[0].Body) == `{"id":1,"depts":{"dname":"X"}}`
	})
	for _, filter := range []string{"select=id,pay(sal)", "select=id,pay(nope)"} {
		_, fault := p.call(rows.IDQuery, (&rows.Query{Resource: "works", Filter: filter}).Append(nil))
		p.want(fault, gofast.Unauthenticated, "unauthorized")
	}
	_, fault := p.call(rows.IDQuery,
		(&rows.Query{Resource: "works", Filter: "select=id,closed(dname)"}).Append(nil))
	p.want(fault, gofast.PermissionDenied, "forbidden")
	_, fault = p.call(rows.IDQuery,
		(&rows.Query{Resource: "works", Filter: "select=id,big(id)"}).Append(nil))
	p.want(fault, gofast.InvalidArgument, "bad-query")
}

// What a filter finds is not cut: an answer that is too large is refused.
func TestQuery_FiltersAreNotCut(t *testing.T) {
	s := newSite(t, func(o *Options, _ *Listen) { o.MaxList = 600 })
	p := s.dial("")
	if page := p.ask("depts", "deptno=gt.0&limit=2"); len(page.Answers) != 2 {
		t.Errorf("%+v", page)
	}
	for range 3 {
		_, fault := p.call(rows.IDQuery, (&rows.Query{Resource: "depts", Filter: "deptno=gt.0"}).Append(nil))
		p.want(fault, gofast.ResourceExhausted, "too-large")
	}
}

// TestWrite_IsReadByWhoWrote: with the position of the answer, by any reader.
func TestWrite_IsReadByWhoWrote(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form)
		p, other := s.dial(""), s.dial("")
		p.hot("depts", "10")
		for i := range 20 {
			loc := fmt.Sprint("LOC ", i)
			w := rows.Write{Resource: "depts", Key: "10", Body: fmt.Appendf(nil, `{"loc":%q}`, loc)}
			data, fault := p.call(rows.IDPatch, w.Append(nil))
			if fault != nil {
				t.Fatal(fault)
			}
			var done rows.Written
			if err := done.Decode(data); err != nil || !strings.Contains(string(done.Answer.Body), loc) {
				t.Fatalf("%+v, %v", done, err)
			}
			a, _ := other.get(rows.Get{Resource: "depts", Key: "10", Min: done.Answer.Position})
			if !strings.Contains(string(a.Body), loc) {
				t.Fatalf("write %d is not seen: %s", i, a.Body)
			}
		}
	})
}

func TestWrite_CreatesReplacesAndDeletes(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	write := func(id uint64, w rows.Write) (rows.Written, *gofast.Error) {
		t.Helper()
		data, fault := p.call(id, w.Append(nil))
		var done rows.Written
		if fault == nil {
			if err := done.Decode(data); err != nil {
				t.Fatal(err)
			}
		}
		return done, fault
	}
	body := []byte(`{"deptNumber":50,"dname":"X"}`)
	done, fault := write(rows.IDCreate, rows.Write{Resource: "depts", Body: body})
	if fault != nil || !done.Created || done.Answer.Key != "50" || done.Answer.ETag == "" {
		t.Fatalf("create: %+v %v", done, fault)
	}
	_, fault = write(rows.IDCreate, rows.Write{Resource: "depts", Body: body})
	p.want(fault, gofast.AlreadyExists, "conflict")
	stale := rows.Write{Resource: "depts", Key: "50", Body: body, IfMatch: []string{`"no-j"`}}
	_, fault = write(rows.IDPut, stale)
	p.want(fault, gofast.FailedPrecondition, "precondition-failed")
	stale.IfMatch = []string{done.Answer.ETag}
	stale.Flags = rows.Minimal
	if done, fault = write(rows.IDPut, stale); fault != nil || len(done.Answer.Body) != 0 {
		t.Fatalf("put: %+v %v", done, fault)
	}
	other := rows.Write{Resource: "depts", Key: "50", Body: []byte(`{"deptNumber":51,"dname":"Y"}`)}
	_, fault = write(rows.IDPut, other)
	p.want(fault, gofast.InvalidArgument, "key-mismatch")
	_, fault = write(rows.IDPut, rows.Write{Resource: "depts", Key: "50", Body: []byte(`{`)})
	p.want(fault, gofast.InvalidArgument, "bad-body")
	_, fault = write(rows.IDPut, rows.Write{Resource: "log", Key: "50", Body: body})
	p.want(fault, gofast.Unimplemented, "read-only")
	if done, fault = write(rows.IDDelete, rows.Write{Resource: "depts", Key: "50"}); fault != nil ||
		done.Answer.State != rows.Absent {
		t.Fatalf("delete: %+v %v", done, fault)
	}
	_, fault = write(rows.IDDelete, rows.Write{Resource: "depts", Key: "50"})
	p.want(fault, gofast.NotFound, "not-found")
	inCBOR := append([]byte{0xa2, 0x65}, "dname\x61C\x63loc\x61D"...)
	if done, fault = write(rows.IDPatch, rows.Write{Resource: "depts", Key: "40", Body: inCBOR,
		BodyFormat: rows.CBOR, Format: rows.CBOR}); fault != nil ||
		!strings.HasSuffix(string(done.Answer.Body), "deptNumber\x18\x28") {
		t.Errorf("CBOR: %q %v", done.Answer.Body, fault)
	}
	pack := append([]byte{0x82, 0xa5}, "dname\xa1Z\xa3loc\xa1Q"...)
	if done, fault = write(rows.IDPatch, rows.Write{Resource: "depts", Key: "40", Body: pack,
		BodyFormat: rows.MsgPack}); fault != nil || !strings.Contains(string(done.Answer.Body), `"Q"`) {
		t.Errorf("MessagePack: %s %v", done.Answer.Body, fault)
	}
}

func TestInfo_ListsWhatMayBeRead(t *testing.T) {
	s := newSite(t)
	p := s.dial("")
	data, fault := p.call(rows.IDInfo, rows.AppendEmpty(nil))
	if fault != nil {
		t.Fatal(fault)
	}
	var i rows.Info
	if err := i.Decode(data); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range i.Resources {
		names = append(names, r.Name)
	}
	if got := fmt.Sprint(names); got != "[big cities crowd depts log slow works]" || i.Server != "hotrow" {
		t.Fatalf("%s serves %s", i.Server, got)
	}
	const all = rows.DoesCreate | rows.DoesPut | rows.DoesPatch | rows.DoesDelete | rows.DoesWatch
	depts, log := i.Resources[3], i.Resources[4]
	if depts.Does != all || depts.MaxLimit != 3 || fmt.Sprint(depts.Key) != "[deptNumber]" ||
		depts.Position == "" || log.Does != rows.DoesWatch {
		t.Errorf("%+v, %+v", depts, log)
	}
}

// TestOrigins_AreTheCores: the numbers that travel never change.
func TestOrigins_AreTheCores(t *testing.T) {
	for core, want := range []rows.Origin{0, 1, 2, 3, 4, 5, 6, 7} {
		if origins[resource.Origin(core)] != want {
			t.Errorf("origin %d travels as %d", core, origins[core])
		}
	}
}

// TestGet_LargeDocuments come in fragments; to an old peer they are too large.
func TestGet_LargeDocuments(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		s := newSite(t, form)
		p := s.dialAs(gofast.Config{Buffer: 4 << 10})
		for range 3 {
			a, code := p.get(rows.Get{Resource: "big", Key: "1"})
			if code != gofast.OK || len(a.Body) < 100_000 {
				t.Fatalf("%v, %d bytes", code, len(a.Body))
			}
		}
		old := s.dialAs(gofast.Config{Legacy: true, Buffer: 512})
		big := (&rows.Get{Resource: "big", Key: "1"}).Append(nil)
		for range 3 {
			if st, _, text := old.old(rows.IDGet, big); st != rows.TooLarge || text == "" {
				t.Errorf("to an old peer: %v %q", st, text)
			}
		}
	})
}

// old sends a request as an old peer and takes its answer apart.
func (p *peer) old(id uint64, payload []byte) (rows.Status, []byte, string) {
	p.t.Helper()
	data, fault := p.call(id, payload)
	if fault != nil {
		p.t.Fatal(fault)
	}
	st, answer, text, err := rows.DecodeStatus(data)
	if err != nil {
		p.t.Fatal(err)
	}
	return st, answer, text
}

// TestOldPeers_AreAlwaysAnswered by a status and an answer or a text.
func TestOldPeers_AreAlwaysAnswered(t *testing.T) {
	s := newSite(t)
	p := s.dialAs(gofast.Config{Legacy: true, Buffer: 2048})
	get := func(res, key string) []byte { return (&rows.Get{Resource: res, Key: key}).Append(nil) }
	for range 3 { // from the database, then from memory
		for _, tt := range []struct {
			id      uint64
			payload []byte
			status  rows.Status
			answer  bool
		}{
			{rows.IDGet, get("depts", "10"), rows.OK, true},
			{rows.IDGet, get("depts", "99"), rows.NotFound, true},
			{rows.IDGet, get("nothing", "1"), rows.NotFound, false},
			{rows.IDGet, get("pay", "1"), rows.Status(gofast.Unauthenticated), false},
			{rows.IDGet, []byte("junk"), rows.Status(gofast.InvalidArgument), false},
			{rows.IDGetMulti, (&rows.GetMulti{Resource: "depts", Keys: []string{"10"}}).Append(nil),
				rows.OK, true},
			{rows.IDQuery, (&rows.Query{Resource: "cities"}).Append(nil), rows.OK, true},
			{rows.IDInfo, rows.AppendEmpty(nil), rows.OK, true},
			{99, nil, rows.Status(gofast.Unimplemented), false},
		} {
			st, answer, text := p.old(tt.id, tt.payload)
			if st != tt.status || tt.answer != (answer != nil) || !tt.answer && text == "" {
				t.Errorf("message %d %x: %v %x %q", tt.id, tt.payload, st, answer, text)
			}
		}
	}
	var a rows.Answer
	if _, answer, _ := p.old(rows.IDGet, get("depts", "10")); a.Decode(answer) != nil ||
		!strings.Contains(string(a.Body), "ACCOUNTING") {
		t.Errorf("%+v", a)
	}
}
