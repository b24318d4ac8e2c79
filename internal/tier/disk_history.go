package tier

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// A Mark is a place in the history of a source: a position of package source,
// and the origin that it belongs to. Marks of two origins cannot be compared.
type Mark struct {
	Origin string
	Pos    uint64
	Note   string // kept with the rest for whoever resumes; not compared
}

// A DiskSource is what a Disk knows of one source: how far its changes are on
// disk, and whether what was there at the start may be handed out.
//
// Whoever follows the source's feed tells it, in the order of the feed:
//
//   - Begin, when the feed begins somewhere and may have missed something:
//     nothing put before is handed out any more, at once and for ever;
//   - or Resume, when it goes on from the committed mark, or from before it. What
//     is on disk is suspect until all that came meanwhile has been applied:
//     CaughtUp;
//   - Applied, when every change up to a mark has been applied, its Drops and
//     DropAlls having returned, and is settled: a read of the source sees it.
//     One that is applied and not settled is not delivered again after a
//     restart, and a load then might still read the state of before it.
//
// A change may be acknowledged to the source once Committed is past it.
type DiskSource struct {
	disk *Disk
	name string

	// Guarded by disk.mu.
	epoch     uint64 // grows with each Begin
	applied   Mark
	committed Mark
	trusted   bool // records of an earlier process are good
	known     bool // there is a mark
	swept     bool // spaces that this process does not follow are forgotten
	dirty     bool // not yet as on disk
}

// A diskSpace is the documents of one resource as it is compiled: another
// compilation is another space.
type diskSpace struct {
	id     uint64
	of     string      // the name of its source
	source *DiskSource // nil: of nobody, good within this process only

	// Guarded by Disk.mu.
	generation uint64 // grows with each DropAll
	dirty      bool
}

// A binding gives a number of this process to a space.
type binding struct {
	space   *diskSpace
	retired bool // another number has taken its place
}

// token returns what a copy put now belongs to. Disk.mu is held.
func (s *diskSpace) token() token {
	t := token{generation: s.generation}
	if s.source != nil {
		t.epoch = s.source.epoch
	}
	return t
}

// trusted reports whether records of an earlier process are good. Disk.mu is
// held.
func (s *diskSpace) trusted() bool { return s.source != nil && s.source.trusted }

// Source returns the source called name, which must be the same database with
// that name at every start.
func (d *Disk) Source(name string) *DiskSource {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sources[name]
	if s == nil {
		s = &DiskSource{disk: d, name: name}
		d.sources[name] = s
	}
	return s
}

// Bind says that documents put under a resource's number are those of identity:
// a text that changes with everything that the documents depend on besides
// their rows (queries, shape, encoder). What an earlier process has put under
// that identity is reachable again. What this process has put under it by
// another number is not, and that number keeps nothing any more: changes may
// have been missed between the two.
func (s *DiskSource) Bind(number uint32, identity string) {
	d := s.disk
	id := xxhash.Sum64String(fmt.Sprintf("%q %q", s.name, identity))
	d.mu.Lock()
	defer d.mu.Unlock()
	space := d.spaces[id]
	if space == nil {
		space = &diskSpace{id: id}
		d.spaces[id] = space
	}
	if space.source = s; space.of != s.name {
		space.of, space.dirty = s.name, true // that it is there is known to later processes
	}
	if b := d.numbers[number]; b != nil && b.space == space && !b.retired {
		return // it is bound so already
	}
	for _, b := range d.numbers {
		if b.space == space && !b.retired {
			b.retired = true
			space.bump()
		}
	}
	d.numbers[number] = &binding{space: space}
}

// Unbind says that nothing is put under a number any more, nor asked for.
func (d *Disk) Unbind(number uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.numbers[number]; b != nil {
		// What it has put stays until another number is bound: then it goes.
		if !b.retired {
			b.retired = true
			b.space.bump()
		}
		delete(d.numbers, number)
	}
}

// bound returns the binding of a number. One that nobody has bound is good
// within this process. d.mu is held.
func (d *Disk) bound(number uint32) *binding {
	b := d.numbers[number]
	if b == nil {
		id := xxhash.Sum64String(fmt.Sprintf("%d %d", d.run, number))
		b = &binding{space: &diskSpace{id: id}}
		d.numbers[number] = b
	}
	return b
}

// appendState appends what is written of a space: its generation and the name of its source.
func (s *diskSpace) appendState(dst []byte) []byte {
	return append(binary.BigEndian.AppendUint64(dst, s.generation), s.of...)
}

// bump makes what the space holds invalid. Disk.mu is held.
func (s *diskSpace) bump() {
	s.generation++
	s.dirty = true
}

// DropAll forgets all documents of a resource. A change of whole tables calls it
// before it is applied and again after: the first keeps reads from what is on
// disk, the second keeps out what was loaded meanwhile.
func (d *Disk) DropAll(number uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bound(number).space.bump()
	d.open.urgent = true
}

// Begin starts a new epoch of the source at m: nothing put before is handed out
// any more. As with DropAll, it is called before and after what makes the copies
// in memory invalid.
func (s *DiskSource) Begin(m Mark) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.begin(m)
}

// begin is Begin under Disk.mu.
func (s *DiskSource) begin(m Mark) {
	s.epoch++
	s.applied, s.known, s.dirty = m, true, true
	s.trusted = true // of what was put since, that is
	s.disk.open.urgent = true
}

// Resume says that the feed goes on at m and will deliver every change after it.
// It reports whether what is on disk can be trusted after CaughtUp; if not, it
// has called Begin.
func (s *DiskSource) Resume(m Mark) bool {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if !s.known || m.Origin == "" || m.Origin != s.applied.Origin || m.Pos > s.applied.Pos {
		s.begin(m)
		return false
	}
	s.trusted = false
	return true
}

// CaughtUp says that every change which was visible after Resume has been
// applied: a fence taken after it was reached.
func (s *DiskSource) CaughtUp() {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	s.trusted = s.known
}

// Applied says that every change up to m is applied and settled. A mark of
// another origin than that of Begin, or an earlier one, says nothing; after a
// Begin at the zero Mark, from where nobody can resume, the first one counts.
func (s *DiskSource) Applied(m Mark) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	later := s.applied.Origin == "" || m.Origin == s.applied.Origin && m.Pos > s.applied.Pos
	if s.known && later {
		s.sweep()
		s.applied, s.dirty = m, true
	}
}

// sweep forgets, before the mark of this process is the first time past that of the one before,
// what no number is bound to: nobody has dropped copies of it at the changes up to that mark.
// Disk.mu is held.
func (s *DiskSource) sweep() {
	if s.swept {
		return
	}
	s.swept = true
	for _, space := range s.disk.spaces {
		if space.source == nil && space.of == s.name {
			space.bump()
		}
	}
}

// Committed returns the mark up to which the disk is complete, also after a
// crash. It reports false when nothing is on disk that depends on one, as when
// the tier has failed: then everything may be acknowledged.
func (s *DiskSource) Committed() (Mark, bool) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.committed, s.committed != Mark{} && s.disk.state != diskOff
}

// Lost reports that nothing is kept on disk any more: the tier has failed, or is
// closed.
func (s *DiskSource) Lost() bool {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	return s.disk.state != diskRunning
}

// appendState appends what is written of a source: its epoch, the position, the
// origin's length, the origin, the note.
func (s *DiskSource) appendState(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, s.epoch)
	dst = binary.BigEndian.AppendUint64(dst, s.applied.Pos)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(s.applied.Origin)))
	dst = append(dst, s.applied.Origin...)
	return append(dst, s.applied.Note...)
}

// setState is the reverse of appendState.
func (s *DiskSource) setState(b []byte) error {
	const head = 20
	if len(b) < head || uint64(binary.BigEndian.Uint32(b[16:])) > uint64(len(b)-head) {
		return fmt.Errorf("%w: the state of source %q", errBroken, s.name)
	}
	s.epoch = binary.BigEndian.Uint64(b)
	origin, note := b[head:head+binary.BigEndian.Uint32(b[16:])], b[head:]
	s.applied = Mark{Origin: string(origin), Pos: binary.BigEndian.Uint64(b[8:]),
		Note: string(note[len(origin):])}
	s.committed, s.known = s.applied, true
	return nil
}
