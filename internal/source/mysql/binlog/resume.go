package binlog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// maxResumePoints bounds how many places are remembered while a transaction is not
// settled. What comes beyond it is delivered again from an earlier one.
const maxResumePoints = 1 << 12

// startTolerance is by how many seconds the start of a server may seem to differ,
// which is computed from its clock and from how long it runs.
const startTolerance = 2

// A resumePoint is a place of the log between two transactions, where a stream can
// begin.
type resumePoint struct {
	pos  source.Position
	file string
	born uint32 // when the file was made
	defs string // digest of the definitions that rows behind it have; "": not known
}

// resumePoints are those that a feed has passed and may be asked for.
type resumePoints struct {
	started int64 // when the server was

	// mu guards list, oldest first.
	mu   sync.Mutex
	list []resumePoint
}

// add notes a point behind all others.
func (m *resumePoints) add(l resumePoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.born == 0 {
		return
	}
	if len(m.list) < maxResumePoints {
		m.list = append(m.list, l)
	}
}

// before returns the last point that is not behind pos, and forgets those
// before it: nobody asks for less than before.
func (m *resumePoints) before(pos source.Position) (resumePoint, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < len(m.list) && m.list[n].pos <= pos {
		n++
	}
	if n == 0 {
		return resumePoint{}, false
	}
	m.list = m.list[n-1:]
	return m.list[0], true
}

// errVoid ends a stream that was opened for nothing.
var errVoid = errors.New("the stream is not used")

// startedAt returns when the server was started. One that has been started since
// may have lost what it had shown, or may have been given other data.
func startedAt(ctx context.Context, c Conn) (at int64, err error) {
	var now, uptime int64
	err = c.Query(ctx, "SELECT UNIX_TIMESTAMP()", nil, func(v []any) error {
		now = catalog.AsInt(v[0])
		return nil
	})
	if err != nil {
		return 0, err
	}
	err = c.Query(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'", nil, func(v []any) error {
		uptime, err = strconv.ParseInt(catalog.AsText(v[1]), 10, 64)
		return err
	})
	return now - uptime, err
}

// UseCheckpoints implements source.Resumer.
func (f *Feed) UseCheckpoints(k source.CheckpointStore) { f.store.Store(&k) }

// Checkpoint implements source.Resumer. The note holds when the server was started,
// when the file was made, how the tables are defined, and the file's name.
func (f *Feed) Checkpoint(pos source.Position) (source.Checkpoint, bool) {
	m, s := f.points.Load(), f.session.Load()
	if m == nil || s == nil || s.mysql {
		return source.Checkpoint{}, false
	}
	l, ok := m.before(pos)
	if !ok {
		return source.Checkpoint{}, false
	}
	return source.Checkpoint{Origin: originOf(s.server), Pos: l.pos,
		Note: fmt.Sprintf("%d %d %s %s", m.started, l.born, cmp.Or(l.defs, "-"), l.file)}, true
}

// resumePoint is where the session stands now.
func (s *following) resumePoint() resumePoint {
	l := resumePoint{pos: s.pos, file: s.done.file, born: s.born}
	if s.holds() {
		if s.digested != s.defs {
			s.digested, s.digest = s.defs, s.defs.digest()
		}
		l.defs = s.digest
	}
	return l
}

// digest returns a text that changes when any of the definitions does.
func (d *definitions) digest() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q;", d.names, d.unobservable)
	names := slices.SortedFunc(maps.Keys(d.tables), func(a, b catalog.Name) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Table, b.Table))
	})
	for _, n := range names {
		t := d.tables[n]
		fmt.Fprintf(sum, "%q %q %q %v %v %q %q %q %v;", n, t.id, t.watched, t.Cols, t.key,
			t.Engine, t.Type, t.onDelete, t.onUpdate)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// A resumption is a checkpoint from which a stream goes on.
type resumption struct {
	from  source.Checkpoint
	start place
	born  uint32
	defs  string
}

// parseResumption reads what Place has written.
func parseResumption(p source.Checkpoint) (r resumption, started int64, ok bool) {
	parts := strings.SplitN(p.Note, " ", 4)
	if len(parts) != 4 {
		return r, 0, false
	}
	started, err := strconv.ParseInt(parts[0], 10, 64)
	born, bornErr := strconv.ParseUint(parts[1], 10, 32)
	r = resumption{from: p, born: uint32(born), defs: parts[2],
		start: place{file: parts[3], offset: uint64(p.Pos) & (1<<OffsetBits - 1)}}
	pos, placeErr := r.start.position()
	return r, started, errors.Join(err, bornErr, placeErr) == nil && pos == p.Pos
}

// resumeAt makes the stream go on from what is kept, if the server is the same,
// has not been started since, and its log goes on from there and could be read so far.
// Whether the file is the same, and is there at all, the stream finds out.
func (f *Feed) resumeAt(a *attached) {
	k := f.store.Load()
	broken := f.broken
	f.broken = false
	if k == nil || !a.server.mariadb || broken {
		return
	}
	p, _ := (*k).Complete()
	if p == f.refused || p.Origin != originOf(a.server.identity) || p.Pos > a.pos {
		return
	}
	r, started, ok := parseResumption(p)
	if d := started - a.started; !ok || d > startTolerance || d < -startTolerance {
		return
	}
	a.resumed, a.start, a.pos, a.gtids = &r, r.start, p.Pos, nil
	// What is defined now as it was then was so all the time, or the log says when
	// not: then rows before that are taken for any, and those behind it, too.
	if a.defs.digest() == r.defs {
		a.defs.end = p.Pos
	}
}

// goOn prepares for a stream that goes on: its first event but one says which
// file it is of, and until then the handler is told nothing.
func (s *following) goOn(a *attached) {
	s.early = make(chan struct{})
	s.handed, s.born, s.resumed = a.pos, a.resumed.born, true
	s.verified = func() {
		if s.early != nil {
			close(s.early)
			<-s.ready
			s.early, s.verified = nil, nil
		}
	}
}

// resumes waits until the stream has shown that it goes on, and tells the handler.
// What is pending stays so: the server that is to prove it is the same.
func (f *Feed) resumes(
	ctx context.Context, a *attached, s *following, st *stream,
) error {
	select {
	case <-s.early:
	case <-st.end():
		f.refused = a.resumed.from
		return fmt.Errorf("go on from where an earlier process stopped: %w",
			errors.Join(st.err, s.failed))
	case <-ctx.Done():
		return ctx.Err()
	}
	if !s.handler.(source.ResumeHandler).Resumed(originOf(a.server.identity), a.pos) {
		f.refused = a.resumed.from
		return errors.New("the copies that are kept are not those of the log; beginning anew")
	}
	return nil
}
