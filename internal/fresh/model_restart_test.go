package fresh

import (
	"maps"
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/waittest"
)

// Going on after a loss, in the exhaustive check: the feed comes back at some place,
// or the process is killed at any moment and another begins with what was on disk.
// The disk keeps copies in batches, each with the place up to which it is complete;
// what is there is suspect until the feed, which begins again at that place, has
// caught up with a fence taken after the start.

// restartState is what a world knows of it.
type restartState struct {
	killed, reconnected bool

	fence   int // 1 + the transactions in the log when the fence began; 0: none has
	behind  txs // visible at that moment
	reached txs // behind, once the feed has it all
	born    txs // visible when the second process began: no copy that it gives is older
	orphans txs // written through the process that was killed, which heard no end of it
}

func (r *restartState) fingerprint(b []byte) []byte {
	return append(b, bit(r.killed), bit(r.reconnected), byte(r.fence), byte(r.behind),
		byte(r.reached), byte(r.born), byte(r.orphans))
}

// A restarter is a protocol whose copies outlive the process.
type restarter interface {
	protocol
	// commit takes what waits to the disk; dirty says that there is something.
	commit()
	dirty() bool
	// kill ends the process, and begins another whose feed can go on or not. It
	// returns the transactions that the feed leaves out. end is how many are in the
	// log, hidden which of them is not visible.
	kill(lost bool, end int, hidden *modelTx) (delivered int)
	// caughtUp says that a fence begun after the start has been reached.
	caughtUp()
	// fence begins a fence, which caughtUp is told of when it is reached.
	fence()
	// peek looks on the disk under a load's lease, and recall ends the load with what
	// was found there, or reports false.
	peek(load int) bool
	recall(load int) (string, bool)
	// reconnect lets the feed go on after from transactions, or begin anew there.
	reconnect(from int, anew bool, hidden *modelTx)
	// onDisk returns the copy that would be recalled now.
	onDisk(doc int, f row.Format) (string, bool)
}

// restartMoves appends the turns that have to do with going on.
func (w *world) restartMoves(m []move) []move {
	p, is := w.p.(restarter)
	if !is {
		return m
	}
	r := &w.restart
	switch {
	case w.sc.kill && !r.killed:
		if p.dirty() {
			m = append(m, move{commits, 0})
		}
		m = append(m, move{kill, 0})
	case (r.killed || w.sc.recalls) && r.fence == 0:
		m = append(m, move{fence, 0})
	case r.fence > 0 && r.reached != r.behind && w.delivered >= r.fence-1:
		m = append(m, move{reach, 0})
	}
	if w.sc.reconnect && !r.reconnected {
		m = append(m, move{reconnect, anew})
		for from := range len(w.sc.txs) + 1 {
			if from == 0 || w.logged.has(from-1) {
				m = append(m, move{reconnect, int8(from)})
			}
		}
	}
	for i := range w.readers {
		x := &w.readers[i]
		if !w.sc.kill && !w.sc.recalls || x.step != 1 || w.loads[x.load].leader != i || w.loads[x.load].step != 0 ||
			x.need == Now {
			continue
		}
		if w.loads[x.load].peeked { // with step 0 it has not been recalled yet
			m = append(m, move{recall, int8(i)})
		} else if _, ok := p.onDisk(w.sc.readers[i].doc, w.sc.readers[i].format); ok {
			m = append(m, move{peek, int8(i)})
		}
	}
	return m
}

// afterwards reports whether a reader who waits for that may begin.
func (w *world) afterwards(reader int) bool {
	for i := range w.readers {
		if w.sc.kill || i != reader && w.readers[i].step != 2 {
			return w.restart.killed
		}
	}
	return true
}

// takeRestart makes one of them.
func (w *world) takeRestart(m move) {
	p, i, r := w.p.(restarter), int(m.i), &w.restart
	switch m.what {
	case commits:
		p.commit()
	case kill:
		w.kill()
	case fence:
		p.fence()
		r.fence, r.behind = 1+w.logs(), w.visible
		if r.behind == 0 {
			p.caughtUp() // there is nothing to wait for
		}
	case reach:
		r.reached = r.behind
		p.caughtUp()
	case peek:
		w.loads[w.readers[i].load].peeked = p.peek(w.readers[i].load)
	case recall:
		l := &w.loads[w.readers[i].load]
		v, ok := p.recall(w.readers[i].load)
		if !ok {
			l.peeked = false
			w.advance(i)
			return
		}
		l.step, l.value = 2, v
		w.answered(w.readers[i].load)
	case reconnect:
		r.reconnected = true
		from := i
		if i == anew {
			from = w.logs()
		}
		p.reconnect(from, i == anew, w.hidden())
		w.delivered, w.called = from, 0
	}
}

// logs returns how many transactions the log has.
func (w *world) logs() (n int) {
	for i := range w.sc.txs {
		if w.logged.has(i) {
			n++
		}
	}
	return n
}

// hidden returns the transaction that is logged and not visible; nil: none is.
func (w *world) hidden() *modelTx {
	for i := range w.sc.txs {
		if w.logged.has(i) && !w.visible.has(i) {
			return &w.sc.txs[i]
		}
	}
	return nil
}

// kill ends the process. Its readers get no answer, and its writes, whose
// transactions the database may have or not, no acknowledgement.
func (w *world) kill() {
	r := &w.restart
	r.killed, r.born = true, w.visible
	for i := range w.readers {
		if x := &w.readers[i]; x.step == 1 {
			x.step, x.load = 2, 0
		}
	}
	for i := range w.sc.txs {
		if w.sc.txs[i].own >= 0 && !w.released.has(i) {
			r.orphans.add(i)
			w.held.add(i)
			w.released.add(i)
		}
	}
	w.loads, w.probe, w.settled = nil, probeState{}, 0
	w.delivered = w.p.(restarter).kill(w.sc.lost, w.logs(), w.hidden())
}

// anew is the place of a feed that begins at the end of the log, whatever it had.
const anew = -1

// A fault is a rule of going on that is left out.
type fault uint8

const (
	noFault     fault = iota
	trustsFirst       // what is on disk is handed out before the feed has caught up
	acksApplied       // the place on disk is that of what was delivered, settled or not
	acksEarly         // it is moved before the drops that belong to it are on disk
	resumesNow        // the feed goes on at the end of the log, not at the place
	keepsTrust        // what is on disk counts although the feed has begun anew
	noFlush           // a change of everything is not told to the disk
	noLease           // what is on disk is kept in memory whatever its lease says
	goesOn            // a feed that comes back behind a gap goes on in its epoch
	forgetsTold       // a copy is recalled whatever was answered in another format
)

// A modelDisk is the disk tier of a world: what package tier keeps.
type modelDisk struct {
	fault   fault
	now     diskState // what is asked: file and queue
	file    diskState // what outlives the process
	run     int
	trusted bool
	found   map[int]string // by load: what peek has seen
}

// diskState is what is on disk.
type diskState struct {
	copies     map[flight]diskCopy
	mark       Position
	epoch, gen int
}

type diskCopy struct {
	value           string
	run, epoch, gen int
	stamp           row.Stamp
}

func (s diskState) clone() diskState {
	s.copies = maps.Clone(s.copies)
	return s
}

func newModelDisk(f fault) *modelDisk {
	d := &modelDisk{fault: f, found: make(map[int]string)}
	d.now.copies = make(map[flight]diskCopy)
	d.file = d.now.clone()
	return d
}

func (d *modelDisk) drop(k row.Key) {
	if d == nil {
		return
	}
	for f := range row.Format(row.NumFormats) {
		delete(d.now.copies, flight{k, f})
	}
}

func (d *modelDisk) dropAll() {
	if d != nil && d.fault != noFlush {
		d.now.gen++
	}
}

func (d *modelDisk) put(fl flight, doc *row.Document) {
	if d != nil {
		d.now.copies[fl] = diskCopy{string(doc.Body()), d.run, d.now.epoch, d.now.gen, doc.Stamp()}
	}
}

// A restarted is package fresh with a disk.
type restarted struct {
	*real
	disk *modelDisk
}

func newRestarted(f fault) *restarted {
	d := newModelDisk(f)
	return &restarted{newRealOn(false, d), d}
}

// place tells the disk up to where it will be complete.
func (r *restarted) place() {
	pos := r.d.Settled().Pos
	if r.disk.fault == acksApplied {
		pos = r.d.Applied().Pos
	}
	r.disk.now.mark = max(r.disk.now.mark, pos)
	if r.disk.fault == acksEarly {
		r.disk.file.mark = r.disk.now.mark
	}
}

func (r *restarted) deliver(tx *modelTx, call int) (last bool) {
	defer r.place()
	return r.real.deliver(tx, call)
}

func (r *restarted) settle(tx int) { r.real.settle(tx); r.place() }

func (r *restarted) commit() { r.disk.file = r.disk.now.clone() }

func (r *restarted) dirty() bool {
	n, f := &r.disk.now, &r.disk.file
	return n.mark != f.mark || n.epoch != f.epoch || n.gen != f.gen || !maps.Equal(n.copies, f.copies)
}

func (r *restarted) kill(lost bool, end int, hidden *modelTx) int {
	d := r.disk
	d.now, d.trusted, d.found = d.file.clone(), d.fault == trustsFirst, make(map[int]string)
	d.run++
	r.real = newRealOn(false, d)
	if lost {
		r.beginAnew(end, hidden)
		return end
	}
	r.d.Reset("o", d.now.mark, nil, 0)
	if d.fault == resumesNow {
		return end
	}
	return int(d.now.mark)
}

// beginAnew begins a feed anew, at the end of the log.
func (r *restarted) beginAnew(end int, hidden *modelTx) {
	d := r.disk
	if d.fault != keepsTrust {
		d.now.epoch++
	}
	d.trusted = true // what is put from now on
	d.now.mark = 0
	var ref any
	if hidden != nil {
		ref = hidden.id
	}
	r.d.Reset("p", Position(end), ref, 0)
}

func (r *restarted) caughtUp() {
	r.disk.trusted = true
	r.d.Fenced(r.clock)
}

func (r *restarted) fence() { r.clock++ }

func (r *restarted) reconnect(from int, anew bool, hidden *modelTx) {
	if !anew && (r.d.Resume("o", Position(from)) || r.disk.fault == goesOn) {
		return
	}
	r.beginAnew(from, hidden)
}

// handsOut reports whether a copy on disk may be handed out, under a lease if there
// is one: what another process has put when it is trusted, what this one has under a
// stamp that is still good.
func (r *restarted) handsOut(c diskCopy, under *row.Stamp) bool {
	d := r.disk
	switch {
	case c.epoch != d.now.epoch || c.gen != d.now.gen:
		return false
	case c.run != d.run:
		return d.trusted
	case under == nil:
		return r.s.Valid(c.stamp)
	}
	return c.stamp.Epoch == under.Epoch && c.stamp.Generation == under.Generation
}

func (r *restarted) onDisk(doc int, f row.Format) (string, bool) {
	c, ok := r.disk.now.copies[flight{docKeys[doc], f}]
	return c.value, ok && r.handsOut(c, nil)
}

func (r *restarted) peek(load int) bool {
	l := r.loads[load]
	c, ok := r.disk.now.copies[flight{l.Key, l.Format}]
	if ok = ok && r.handsOut(c, &l.Stamp); ok {
		r.disk.found[load] = c.value
	}
	return ok
}

func (r *restarted) recall(load int) (string, bool) {
	l, v := r.loads[load], r.disk.found[load]
	delete(r.disk.found, load)
	doc := r.document(l, v)
	if r.disk.fault == forgetsTold {
		r.s.shard(l.Key).answeredAt = [row.NumFormats]*[slots]int64{}
	}
	keep := func() { r.store[flight{l.Key, l.Format}] = doc }
	if r.s.FinishFromDisk(l, doc, keep) {
		return v, true
	}
	if r.disk.fault == noLease && r.s.Found(l, doc) {
		keep()
		return v, true
	}
	return "", false
}

func (r *restarted) state(b []byte) []byte {
	d := r.disk
	b = append(r.real.state(b), byte(d.run), bit(d.trusted))
	for _, s := range []*diskState{&d.now, &d.file} {
		b = append(b, byte(s.mark), byte(s.epoch), byte(s.gen))
		for _, k := range docKeys {
			for f := range row.Format(row.NumFormats) {
				if c, ok := s.copies[flight{k, f}]; ok {
					b = append(b, k[1], byte(f), byte(c.run), byte(c.epoch), byte(c.gen),
						byte(c.stamp.Epoch), byte(c.stamp.Generation))
					b = appendText(b, c.value)
				}
			}
		}
		b = append(b, '|')
	}
	for _, load := range slices.Sorted(maps.Keys(d.found)) {
		b = appendText(append(b, byte(load)), d.found[load])
	}
	return b
}

// restartScenarios are those in which the feed, or the process, goes on.
func restartScenarios() []scenario {
	write, whole := modelTx{docs: []int{0}}, modelTx{whole: true}
	own := foreign(write)
	own[0].own = 0
	before := modelReader{doc: 0}
	after := modelReader{doc: 0, after: true}
	return []scenario{
		{name: "killed", kill: true, txs: foreign(write), readers: []modelReader{before, after}},
		{name: "killed, two changes", kill: true, txs: foreign(write, write),
			readers: []modelReader{before, after}, long: true},
		{name: "killed, the source is asked", kill: true, txs: foreign(write),
			readers: []modelReader{before, {doc: 0, after: true, need: Now}}},
		{name: "killed, whole table", kill: true, txs: foreign(whole),
			readers: []modelReader{before, after}},
		{name: "killed in a write", kill: true, txs: own, readers: []modelReader{before, after}},
		{name: "killed, the feed begins anew", kill: true, lost: true, txs: foreign(write),
			readers: []modelReader{before, after}},
		{name: "two formats and a disk", recalls: true, txs: foreign(write),
			readers: []modelReader{before, {format: row.FormatMsgPack}, after}},
		{name: "feed comes back", reconnect: true, txs: foreign(write),
			readers: []modelReader{before, before}},
		{name: "feed comes back, two changes", reconnect: true, txs: foreign(write, write),
			readers: []modelReader{before}},
		{name: "feed comes back, whole table", reconnect: true, txs: foreign(whole, write),
			readers: []modelReader{before}},
	}
}

// ofLetters returns sc with one document, whose value is the list of its changes.
func ofLetters(sc scenario) scenario {
	sc.docs, sc.value = 1, letters
	return sc
}

func TestModel_Resume(t *testing.T) {
	for _, sc := range restartScenarios() {
		if sc.long && !waittest.Long() {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			sc := ofLetters(sc)
			states, failures := explore(&sc, func() protocol { return newRestarted(noFault) })
			t.Logf("%d states", states)
			if states < 500 {
				t.Errorf("only %d states: the scenario does not run", states)
			}
			for _, f := range failures {
				t.Error(f)
			}
		})
	}
}

// TestModel_BrokenResumesFail shows that the check can fail: each rule is needed.
func TestModel_BrokenResumesFail(t *testing.T) {
	all := restartScenarios()
	for _, tt := range []struct {
		name, scenario string
		fault          fault
	}{
		{"trusted before the feed has caught up", "killed", trustsFirst},
		{"acknowledged when applied, not when settled", "killed", acksApplied},
		{"acknowledged before it is on disk", "killed", acksEarly},
		{"goes on at the end of the log", "killed", resumesNow},
		{"trusted after a gap", "killed, the feed begins anew", keepsTrust},
		{"change of everything not on disk", "killed, whole table", noFlush},
		{"recalled without its lease", "killed", noLease},
		{"goes on behind a gap", "feed comes back", goesOn},
		{"older than an answer in another format", "two formats and a disk", forgetsTold},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(s scenario) bool { return s.name == tt.scenario })
			sc := ofLetters(all[i])
			_, failures := explore(&sc, func() protocol { return newRestarted(tt.fault) })
			if len(failures) == 0 {
				t.Fatalf("the check does not catch it in %q", tt.scenario)
			}
			t.Log(failures[0])
		})
	}
}
