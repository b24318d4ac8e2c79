package load

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// errClosed is what becomes of a request that the server has not answered.
var errClosed = errors.New("the server closed the connection before it answered")

// maxPipeline bounds the requests on their way on one connection.
const maxPipeline = 1024

// phase is what a run does with the answers that come.
type phase int32

const (
	warming phase = iota
	measuring
	stopping
	abandoned // stopping, and nothing is waited for
)

// A run is what all workers share. It is written before they start, but for the
// atomics.
type run struct {
	cfg      Config
	to       target
	requests requests
	began    time.Time
	phase    atomic.Int32 // phase
	workers  []*worker

	// The schedule of an open loop, in ns since began: only requests that are
	// due from opens on and before closes are measured.
	opens, closes int64

	from, till mark // of the measured time; written by conduct
}

// now returns the ns since the run began, from one read of the clock.
func (r *run) now() int64 { return int64(time.Since(r.began)) }

// is reports whether the run is in a phase.
func (r *run) is(p phase) bool { return phase(r.phase.Load()) == p }

// enter begins a phase.
func (r *run) enter(p phase) { r.phase.Store(int32(p)) }

// over reports whether nothing new is to be asked.
func (r *run) over() bool { return phase(r.phase.Load()) >= stopping }

// abandoned reports whether nothing is to be waited for.
func (r *run) abandoned() bool { return r.is(abandoned) }

// A worker is what one goroutine needs to ask and to count answers.
type worker struct {
	run  *run
	keys *picker
	seq  int64 // of the next request, in steps of seqStep
	step int64
	body []byte // scratch for the body of a write, or a key

	tally tally

	// answered and failed are the tally's, published for progress and marks.
	// They have one writer; the padding keeps them off the line of another.
	_                [64]byte
	answered, failed atomic.Uint64
	_                [64]byte
}

// newWorker returns worker i of n.
func newWorker(r *run, i, n int) *worker {
	return &worker{
		run: r, keys: newPicker(r.cfg.Keys, r.cfg.Seed, i, n),
		seq: r.cfg.Write.First + int64(i), step: int64(n),
	}
}

// publish makes the counts visible to others.
func (w *worker) publish() {
	w.answered.Store(w.tally.answers)
	w.failed.Store(w.tally.failed)
}

// A tally is what was counted. Histograms and statuses are of the measured time
// only, answers and errors of the whole run.
type tally struct {
	reads, writes Histogram
	statuses      [600]uint64
	bytes         uint64
	checked       uint64
	reconnects    uint64
	unfinished    uint64 // due in an open loop, not answered when it ended
	answers       uint64
	failed        uint64
	errors        [errorKinds]uint64
	first         error // the first error of the run
	sinceCheck    int   // reads since one was checked
}

// errorKind is why a request counts as failed.
type errorKind int

const (
	connectError errorKind = iota
	closedError
	timeoutError
	framingError
	statusError
	checkError
	errorKinds
)

// errorNames are those in Result.Errors.
var errorNames = [errorKinds]string{"connect", "closed", "timeout", "framing", "status", "check"}

// fail counts n failed requests.
func (t *tally) fail(kind errorKind, n int, err error) {
	t.errors[kind] += uint64(n)
	t.failed += uint64(n)
	if t.first == nil {
		t.first = fmt.Errorf("%s: %w", errorNames[kind], err)
	}
}

// add adds what another has counted.
func (t *tally) add(other *tally) {
	t.reads.Add(&other.reads)
	t.writes.Add(&other.writes)
	for i, n := range other.statuses {
		t.statuses[i] += n
	}
	t.bytes += other.bytes
	t.checked += other.checked
	t.reconnects += other.reconnects
	t.unfinished += other.unfinished
	t.answers += other.answers
	t.failed += other.failed
	for i, n := range other.errors {
		t.errors[i] += n
	}
	if t.first == nil {
		t.first = other.first
	}
}

// A flight is a request that is on its way.
type flight struct {
	start int64 // when it was due, in an open loop; else when it was sent
	sent  int64
	key   int64
	write bool
	check bool
}

// A session is what one connection has asked and not been answered. It does no
// I/O, so that loops and goroutines share it.
type session struct {
	rd      reader
	flights []flight // a ring
	at, n   int
	written bool // the connection has sent what it writes once
	greeted bool // it has sent the greeting of its protocol
}

// newSession returns a session of a run, for as many requests at a time as it may have.
func newSession(r *run) session {
	return session{
		rd: newReader(r.to.protocol, r.cfg.Batch), flights: make([]flight, r.cfg.Pipeline),
	}
}

// oldest returns the flight that is answered next.
func (s *session) oldest() *flight { return &s.flights[s.at] }

// reset forgets what is on its way and returns how much that was.
func (s *session) reset() int {
	lost := s.n
	s.rd.reset()
	s.at, s.n, s.written, s.greeted = 0, 0, false, false
	return lost
}

// ask appends one request to out. There must be room for its flight.
func (s *session) ask(w *worker, out []byte, start, now int64) []byte {
	f := &s.flights[(s.at+s.n)%len(s.flights)]
	s.n++
	*f = flight{start: start, sent: now, key: w.keys.next()}
	seq := w.seq
	w.seq += w.step
	if !s.greeted {
		s.greeted = true
		greeting := w.run.requests.greeting()
		out, s.rd.greeted = append(out, greeting...), len(greeting) == 0
	}
	first := w.run.cfg.Write.Once && !s.written
	if first || w.keys.chance(w.run.cfg.Write.Percent) {
		s.written, f.write = true, true
		return w.run.requests.appendWrite(out, w, f.key, seq)
	}
	if w.run.cfg.Check != nil {
		if w.tally.sinceCheck++; w.tally.sinceCheck >= w.run.cfg.CheckEvery {
			w.tally.sinceCheck, f.check = 0, true
		}
	}
	return w.run.requests.appendRead(out, w, f.key, seq)
}

var errUnasked = errors.New("an answer to no request")

// take consumes answers, all of which came at now, and counts them. It returns
// what it has not consumed, and whether the server closes the connection.
func (s *session) take(w *worker, in []byte, now int64) (rest []byte, closes bool, err error) {
	for len(in) > 0 {
		if s.n == 0 {
			return in, false, errUnasked
		}
		f := s.oldest()
		s.rd.keep = f.check
		s.rd.noBody = !f.write && w.run.cfg.Method == "HEAD"
		n, done, err := s.rd.step(in)
		if err != nil {
			return in, false, err
		}
		in = in[n:]
		if !done {
			return in, false, nil
		}
		if s.finish(w, now); s.rd.close {
			return in, true, nil
		}
	}
	return in, false, nil
}

// ended takes the end of the stream, which ends an answer of unknown length.
func (s *session) ended(w *worker, now int64) {
	if s.n > 0 && s.rd.stage == untilEnd {
		s.finish(w, now)
	}
}

// finish counts the answer that the reader has just read.
func (s *session) finish(w *worker, now int64) {
	f := *s.oldest()
	s.at = (s.at + 1) % len(s.flights)
	s.n--
	w.count(f, &s.rd, now)
	s.rd.next()
}

// count counts one answer.
func (w *worker) count(f flight, rd *reader, now int64) {
	t := &w.tally
	t.answers++
	if rd.status >= 400 {
		t.fail(statusError, 1, fmt.Errorf("key %d was answered with %s", f.key, rd.answer()))
	}
	if f.check {
		t.checked++
		a := Answer{Key: f.key, Status: rd.status, ETag: rd.etag, Body: rd.body}
		if err := w.run.cfg.Check(a); err != nil {
			t.fail(checkError, 1, fmt.Errorf("key %d: %w", f.key, err))
		}
	}
	if !w.measures(f) {
		return
	}
	t.bytes += uint64(rd.size)
	t.statuses[min(rd.status, len(t.statuses)-1)]++
	if f.write {
		t.writes.Record(time.Duration(now - f.start))
		return
	}
	t.reads.Record(time.Duration(now - f.start))
}

// measures reports whether a request belongs to the measured time: in an open
// loop by when it was due, in a closed one by when it was answered.
func (w *worker) measures(f flight) bool {
	if w.run.cfg.Rate > 0 {
		return f.start >= w.run.opens && f.start < w.run.closes
	}
	return w.run.is(measuring)
}
