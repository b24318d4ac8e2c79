package stress

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/testbed"
)

// morphKeys is how many rows a table that changes its definition has.
const morphKeys = 8

// A morph is a resource whose table changes its definition. Its history is that of what each
// row holds and that of the columns, apart: a load by a plan of a moment ago tells of rows as
// they are, and of columns as they were.
type morph struct {
	mu     sync.Mutex                // one statement at a time
	name   string                    // of the resource and its table
	regs   [morphKeys + 1]*Register  // of the rows
	shape  *Register                 // of the columns and the type of v
	rows   map[int]map[string]string // the documents by key: values as JSON by member
	memory map[int]map[string]string // rows that a detached partition holds
	added  []string                  // columns beside id and v
	text   bool                      // v is a text now
	plus   int64                     // what a view adds to v
	label  int64                     // of an enumeration
	steps  []func(m *morph) []step   // what may be done to it
}

// A step is one transaction: statements, and what they make of the documents; nil: nothing.
type step struct {
	sql    []string
	mutate func(m *morph)
}

// newMorph returns a table whose rows have their keys as values.
func newMorph(name string, steps ...func(m *morph) []step) *morph {
	m := &morph{name: name, rows: make(map[int]map[string]string), steps: steps}
	for k := 1; k <= morphKeys; k++ {
		m.rows[k] = map[string]string{"id": fmt.Sprint(k), "v": fmt.Sprint(k)}
		m.regs[k] = NewRegister(m.state(k))
	}
	m.shape = NewRegister(m.columns())
	return m
}

// state returns what the row of k holds.
func (m *morph) state(k int) State {
	if m.rows[k] == nil {
		return State{}
	}
	var n int64
	_, _ = fmt.Sscan(strings.Trim(m.rows[k]["v"], `"`), &n)
	return State{Value: numberOf(fmt.Sprint(n+m.plus, m.rows[k]["f"]))}
}

// columns returns what the definition is.
func (m *morph) columns() State {
	names := append([]string{"id", "v"}, m.added...)
	slices.Sort(names)
	return State{Value: numberOf(fmt.Sprint(names, m.text))}
}

// numberOf returns a number for a text.
func numberOf(text string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return int64(h.Sum64() | 1)
}

// parse returns what a document says of the row and of the columns. A column that was added
// holds its default everywhere.
func parse(body []byte) (row, columns State, err error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(body, &doc); err != nil {
		return row, columns, fmt.Errorf("%s: %w", body, err)
	}
	var names []string
	for name, v := range doc {
		names = append(names, name)
		if name != "id" && name != "v" && name != "f" && string(v) != new(morph).fallback(name) {
			return row, columns, fmt.Errorf("%s has %s of another column: %s", name, v, body)
		}
	}
	slices.Sort(names)
	v := string(doc["v"])
	columns.Value = numberOf(fmt.Sprint(names, strings.HasPrefix(v, `"`)))
	row.Value = numberOf(fmt.Sprint(strings.Trim(v, `"`), string(doc["f"])))
	return row, columns, nil
}

// set makes v of key k the number n.
func (m *morph) set(k int, n int64) {
	if m.rows[k] == nil {
		return
	}
	m.rows[k]["v"] = fmt.Sprint(n)
	if m.text {
		m.rows[k]["v"] = fmt.Sprintf("%q", fmt.Sprint(n))
	}
}

// fill gives the table, as it is created, new rows from n on.
func (m *morph) fill(n int64) {
	m.added, m.text = nil, false
	clear(m.rows)
	for k := 1; k <= morphKeys; k++ {
		m.rows[k] = map[string]string{"id": fmt.Sprint(k), "v": fmt.Sprint(n + int64(k))}
	}
}

// A morphing is a run: the tables, who changes them and who reads.
type morphing struct {
	t       testing.TB
	history *History
	morphs  []*morph
	number  atomic.Int64 // the last one given out
	exec    func(ctx context.Context, sql []string) error

	writes, ddl, answers, hits, refused, flagged atomic.Int64

	mu       sync.Mutex // guards what follows
	pending  []Read
	bad      []string
	failed   map[string]int // answers that are errors, by status and table
	refusals map[string]int // those with 503, by table and what they say
}

// next returns a number that no other document of the run has.
func (r *morphing) next() int64 { return r.number.Add(100) }

// write changes the tables until ctx ends.
func (r *morphing) write(ctx context.Context, wg *sync.WaitGroup, m *morph, wait time.Duration) {
	wg.Go(func() {
		for testbed.Pause(ctx, wait/2+rand.N(wait)) {
			m.mu.Lock()
			err := r.change(m)
			m.mu.Unlock()
			if err != nil {
				r.t.Errorf("writer: %v", err)
				return
			}
		}
	})
}

// change does one thing to a table: half of the time to a row. m.mu is held.
func (r *morphing) change(m *morph) error {
	steps := m.steps[rand.IntN(len(m.steps))](m)
	if rand.IntN(2) == 0 {
		steps = r.rowStep(m)
	} else {
		r.ddl.Add(int64(len(steps)))
	}
	for _, s := range steps {
		if err := r.run(m, s); err != nil {
			return err
		}
	}
	return nil
}

// rowStep updates a row, or deletes one, or puts it back.
func (r *morphing) rowStep(m *morph) []step {
	k, n := 1+rand.IntN(morphKeys), r.next()
	r.writes.Add(1)
	switch {
	case m.memory[k] != nil: // the partition is detached
		return nil
	case m.rows[k] == nil:
		return []step{{[]string{fmt.Sprintf("INSERT INTO %s (id, v) VALUES (%d, %d)", m.name, k, n)},
			func(m *morph) {
				m.rows[k] = map[string]string{"id": fmt.Sprint(k)}
				for _, c := range m.added {
					m.rows[k][c] = m.fallback(c)
				}
				m.set(k, n)
			}}}
	case rand.IntN(6) == 0:
		return []step{{[]string{fmt.Sprintf("DELETE FROM %s WHERE id = %d", m.name, k)},
			func(m *morph) { delete(m.rows, k) }}}
	}
	return []step{{[]string{fmt.Sprintf("UPDATE %s SET v = %d WHERE id = %d", m.name, n, k)},
		func(m *morph) { m.set(k, n) }}}
}

// fallback is the default of an added column: its name ends with it, or it is a label.
func (m *morph) fallback(column string) string {
	if column == "f" {
		return fmt.Sprintf(`"l%d"`, m.label)
	}
	return column[strings.LastIndexByte(column, '_')+1:]
}

// run makes one transaction, and notes what the documents are after it.
func (r *morphing) run(m *morph, s step) error {
	var before [morphKeys + 1]State
	for k := 1; k <= morphKeys; k++ {
		before[k] = m.state(k)
	}
	was := m.columns()
	if s.mutate != nil {
		s.mutate(m)
	}
	var changes []Change
	for k := 1; k <= morphKeys; k++ {
		if now := m.state(k); now != before[k] {
			changes = append(changes, Change{m.regs[k], now})
		}
	}
	if now := m.columns(); now != was {
		changes = append(changes, Change{m.shape, now})
	}
	ctx, cancel := context.WithTimeout(context.Background(), testbed.Patience)
	defer cancel()
	commit := r.history.Begin(changes)
	var err error
	for range 20 { // a deadlock with a reader is tried again
		if err = r.exec(ctx, s.sql); err == nil {
			break
		}
		testbed.Pause(ctx, 5*time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(s.sql, "; "), err)
	}
	commit.Done(0)
	return nil
}

// read asks for documents until ctx ends.
func (r *morphing) read(ctx context.Context, wg *sync.WaitGroup, c road) {
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := r.once(c, r.morphs[rand.IntN(len(r.morphs))], 1+rand.IntN(morphKeys)); err != nil {
				r.t.Errorf("reader: %v", err)
				return
			}
		}
	})
}

// once makes one read and keeps it to be explained. What a definition is, a copy or a plan
// may know stale_after late, as any other change.
func (r *morphing) once(c road, m *morph, k int) error {
	begin := r.history.Now()
	a, err := c.get(fmt.Sprintf("/%s/%d", m.name, k))
	end := r.history.Now()
	switch {
	case err != nil && strings.Contains(err.Error(), "is not there any more"): // of the table
		a = &answer{code: 404}
	case err != nil && strings.Contains(err.Error(), "send the request again"):
		a = &answer{code: 503, body: []byte(err.Error())}
	case err != nil:
		return err
	}
	r.answers.Add(1)
	row, shape := Look{Register: m.regs[k]}, Look{Register: m.shape}
	switch a.code {
	case 200:
		if row.State, shape.State, err = parse(a.body); err != nil {
			return err
		}
	case 404:
	case 503:
		r.refused.Add(1)
		r.mu.Lock()
		why, _, _ := strings.Cut(string(a.body), `"instance"`)
		r.refusals[m.name+": "+why]++
		r.mu.Unlock()
		return nil
	default:
		r.mu.Lock()
		r.failed[fmt.Sprintf("%d %s: %s", a.code, m.name, a.body)]++
		r.mu.Unlock()
		return nil
	}
	age := staleAfter
	switch a.status() {
	case hit:
		r.hits.Add(1)
	case "fwd=stale":
		r.flagged.Add(1)
		age = maxStale
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range []Look{row, shape} {
		if a.code == 404 && l.Register == m.shape {
			continue
		}
		r.pending = append(r.pending, Read{Looks: []Look{l}, To: end, Begin: begin,
			From: begin - Moment(age+rounding),
			What: fmt.Sprintf("GET /%s/%d at %v: %d, %s: %s", m.name, k, time.Duration(begin), a.code,
				a.status(), a.body)})
	}
	return nil
}

// explain explains what was read before everything that is being committed.
func (r *morphing) explain() {
	settled := r.history.Settled()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = slices.DeleteFunc(r.pending, func(read Read) bool {
		if read.To >= settled {
			return false
		}
		if err := read.Explain(); err != nil {
			r.bad = append(r.bad, err.Error())
		}
		return true
	})
}

// runAll changes and reads for some time; then every document is what the database has.
func (r *morphing) runAll(s *stand) {
	t := r.t
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	for _, m := range r.morphs {
		r.write(ctx, &wg, m, 40*time.Millisecond)
	}
	for i := range 6 {
		r.read(ctx, &wg, s.road(i%2))
	}
	wg.Go(func() {
		for testbed.Pause(ctx, 100*time.Millisecond) {
			r.explain()
		}
	})
	testbed.Work(t, testbed.Length(time.Second), &r.hits, &r.ddl)
	cancel()
	wg.Wait()
	testbed.Pause(t.Context(), 2*staleAfter)
	s.Quiet()
	old := r.sweep(s.connect())
	r.explain()
	testbed.Figures(t, "%d answers (%d hits, %d flagged, %d refused with 503) of %d tables beside %d steps of "+
		"DDL and %d writes of rows; unexplained %d; sweep: %d old; errors %d", r.answers.Load(),
		r.hits.Load(), r.flagged.Load(), r.refused.Load(), len(r.morphs), r.ddl.Load(),
		r.writes.Load(), len(r.bad), old, len(r.failed))
	for text, n := range r.refusals {
		t.Logf("%d refused: %s", n, text)
	}
	of := make(map[string]int)
	for _, text := range r.bad {
		of[strings.Split(text, "/")[1]]++
	}
	if len(of) > 0 {
		t.Logf("unexplained, by table: %v", of)
	}
	for i, text := range r.bad {
		if i == 5 {
			t.Errorf("and %d more", len(r.bad)-i)
			break
		}
		t.Error(text)
	}
	for text, n := range r.failed {
		t.Errorf("%d times: %s", n, text)
	}
	if r.hits.Load() == 0 || r.ddl.Load() == 0 {
		t.Error("a part of the test has done nothing")
	}
}

// sweep compares every document, read from memory if it is there, with the last version.
func (r *morphing) sweep(c road) (old int) {
	for _, m := range r.morphs {
		for k := 1; k <= morphKeys; k++ {
			for range 2 {
				a, err := c.get(fmt.Sprintf("/%s/%d", m.name, k))
				if err != nil {
					r.t.Error(err)
					return old
				}
				var row, shape State
				if a.code == 200 {
					row, shape, err = parse(a.body)
				}
				if err != nil || row != m.regs[k].Last() || a.code == 200 && shape != m.shape.Last() {
					old++
					r.t.Errorf("when all is quiet GET /%s/%d is %d, %s: %s, which is not %v", m.name, k,
						a.code, a.status(), a.body, m.rows[k])
				}
			}
		}
	}
	return old
}

// morphSpecs serves the tables of morphs and those of specs.
func morphSpecs(morphs []*morph, specs ...resource.Spec) []resource.Spec {
	for _, m := range morphs {
		if !slices.ContainsFunc(specs, func(s resource.Spec) bool { return s.Table.Name == m.name }) {
			specs = append(specs, testbed.Spec(m.name))
		}
	}
	return specs
}
