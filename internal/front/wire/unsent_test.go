package wirefront

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/waittest"
)

// heap returns the bytes that are alive.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// askMuch sends n requests for 7 MB each.
func (p *peer) askMuch(n int) (opaques []uint64) {
	p.t.Helper()
	var out []byte
	data := (&rows.GetMulti{Resource: "big", Keys: slices.Repeat([]string{"1"}, 70)}).Append(nil)
	for range n {
		var opaque uint64
		var err error
		out, opaque, err = p.s.AppendRequest(out, &gofast.Message{ID: rows.IDGetMulti, Data: data}, nil)
		if err != nil {
			p.t.Fatal(err)
		}
		opaques = append(opaques, opaque)
	}
	p.write(out)
	return opaques
}

// TestUnsent_AnswersThatNobodyReads: ten peers ask for 2 GB each and read nothing.
// What is made for them stays within the budget of the process and of each of them,
// others have their answers meanwhile, and who reads on gets all of his.
func TestUnsent_AnswersThatNobodyReads(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		u := front.NewOutputBudget(0, 0)
		u.Wait = time.Minute
		s := newSite(t, form, func(o *Options, _ *Listen) { o.Unsent = u })
		s.dial("").hot("big", "1")
		s.dial("").hot("big", "2")
		before := heap()
		for range 9 {
			s.dialAs(gofast.Config{MaxMessage: 16 << 20}).askMuch(300)
		}
		reader := s.dialAs(gofast.Config{MaxMessage: 16 << 20})
		opaques := reader.askMuch(12)
		other := s.dial("")
		var most, held int64
		for range 10 {
			began := time.Now()
			if a, code := other.get(rows.Get{Resource: "big", Key: "2", Flags: rows.NoCache}); code != gofast.OK {
				t.Errorf("another peer's read: %v, %v", a.State, code)
			}
			if took := time.Since(began); waittest.Late(took, 2*time.Second) {
				t.Errorf("another peer's read took %v", took)
			}
			most = max(most, heap()-before)
			held = max(held, u.Stats().Bytes)
		}
		t.Logf("ten peers that read nothing: %d MiB more alive, %d MiB claimed, %d wait",
			most>>20, held>>20, u.Stats().Waiting)
		if most > 160<<20 || held > front.UnsentAll {
			t.Errorf("they hold %d MiB, of which %d MiB are claimed", most>>20, held>>20)
		}
		for i, opaque := range opaques {
			h := reader.next(opaque)
			if h.Err != nil || len(h.data) < 7_000_000 {
				t.Fatalf("answer %d of who reads on: %v, %d bytes", i, h.Err, len(h.data))
			}
		}
		reader.hot("depts", "10")
		s.over.Close()
		eventually(t, "nothing is claimed any more", func() bool { return u.Stats() == front.OutputStats{} })
	})
}

// TestUnsent_ManyAnswersWhileReading: what was claimed is given back as the peer
// reads: far more than the budget goes through, one after another and together.
func TestUnsent_ManyAnswersWhileReading(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		u := front.NewOutputBudget(1<<20, 2<<20)
		s := newSite(t, form, func(o *Options, _ *Listen) { o.Unsent = u })
		p := s.dial("")
		for range 30 {
			var opaques []uint64
			for range 20 {
				opaques = append(opaques, p.send(rows.IDGet, (&rows.Get{Resource: "big", Key: "1",
					Flags: rows.NoCache}).Append(nil)))
			}
			for _, o := range opaques {
				if h := p.next(o); h.Err != nil {
					t.Fatalf("a read: %v", h.Err)
				}
			}
		}
		eventually(t, "nothing is claimed any more", func() bool { return u.Stats() == front.OutputStats{} })
	})
}

// TestTask_LogOfWhatEndsAnyway: a deadline or a cancel ends a task while its answer
// comes; the race detector sees that what the access log is told is one goroutine's
// at a time.
func TestTask_LogOfWhatEndsAnyway(t *testing.T) {
	log, _ := openAccess(t, accesslog.All)
	s := newSite(t, func(o *Options, _ *Listen) { o.Access = log })
	p := s.dial("")
	for i := range 300 {
		m := gofast.Message{ID: rows.IDGet, Deadline: time.Duration(i%10+1) * 100 * time.Microsecond,
			Data: (&rows.Get{Resource: "depts", Key: fmt.Sprint(10 * (1 + i%4)), Flags: rows.NoCache}).Append(nil)}
		opaque := p.sendMessage(&m)
		if i%3 == 0 {
			if out, err := p.s.AppendCancel(nil, opaque, gofast.Canceled); err == nil {
				p.write(out)
			}
			continue
		}
		p.next(opaque)
	}
}

// TestUnsent_SmallDocumentsThatNobodyReads: many keys in many requests, of which memory has
// all, are bounded like large documents: their answers, and the keys that wait.
func TestUnsent_SmallDocumentsThatNobodyReads(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *Listen)) {
		u := front.NewOutputBudget(0, 0)
		u.Wait = time.Minute
		s := newSite(t, form, func(o *Options, _ *Listen) { o.Unsent = u })
		s.dial("").hot("depts", "10")
		before := heap()
		data := (&rows.GetMulti{Resource: "depts", Keys: slices.Repeat([]string{"10"}, 1000)}).Append(nil)
		for range 10 {
			p := s.dialAs(gofast.Config{MaxMessage: 16 << 20})
			go func() {
				for range 900 { // 180 MB
					out, _, err := p.s.AppendRequest(nil, &gofast.Message{ID: rows.IDGetMulti, Data: data}, nil)
					if err != nil {
						return
					}
					if _, err := p.nc.Write(out); err != nil {
						return
					}
				}
			}()
		}
		eventually(t, "answers wait", func() bool { return u.Stats().Bytes > 20<<20 })
		s.dial("").hot("depts", "10")
		eventually(t, "they hold what is counted, and little more", func() bool {
			return heap()-before < 2*u.Stats().Bytes+64<<20
		})
		if held := u.Stats().Bytes; held > front.UnsentAll+16<<20 {
			t.Errorf("%d MiB are counted", held>>20)
		}
		s.over.Close()
		eventually(t, "nothing is claimed any more", func() bool { return u.Stats() == front.OutputStats{} })
	})
}
