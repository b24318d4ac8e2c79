package resource

import (
	"fmt"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// encoderVersion is part of what a document on disk depends on. It is raised
// when the encoders of package row make other bytes of the same values.
const encoderVersion = 1

// keepOnDisk gives a compiled revision the disk, where one can keep its documents:
// each of them must be found by the feed alone, after memory has forgotten it and
// after a restart. It runs before anybody else sees f.
//
//   - A document that is kept for a time says so by a clock of this process.
//   - Where the old parents of rows are unknown, versions know which documents hold a
//     row, and they are this process's own.
//   - Where several texts name one key, reads ask the source in any case.
func (f *revision) keepOnDisk(d *tier.Disk) {
	if d == nil || f.memory == nil || f.spec.TTL > 0 || f.wide {
		return
	}
	if f.docDeps != nil && f.docDeps.paths != nil {
		f.src.log.Warn("documents are not kept on disk: which of them depend on a row only memory"+
			" knows", "resource", f.r.name, "why", "depends names a path")
		return
	}
	if f.docDeps != nil {
		f.src.log.Warn("documents are not kept on disk: the feed may not tell which of them a row"+
			" was part of", "resource", f.r.name, "tables", Tracked(f.plan),
			"hint", "hotrow doctor -c says what would; on PostgreSQL, REPLICA IDENTITY FULL")
		return
	}
	f.disk = d
	f.space.OnWhole(func() { d.DropAll(f.number) })
}

// Tracked returns the tables whose old rows a feed may not tell: only memory knows which
// documents hold a row of them, and the disk does not keep these documents.
func Tracked(p source.Plan) []string {
	var out []string
	for _, d := range p.Deps() {
		if len(d.Columns) > 0 && len(d.Identity) > 0 && !d.KnowsOld {
			out = append(out, d.Table)
		}
	}
	return out
}

// bind makes what an earlier process has put for the same revision reachable, and
// what an earlier revision has put in this process unreachable. It runs when f takes
// the place of that revision.
func (f *revision) bind() {
	if f.disk != nil && f.src.disk != nil {
		f.src.disk.Bind(f.number, f.identity())
	}
}

// identity is everything that a document of f depends on besides rows.
func (f *revision) identity() string {
	return fmt.Sprintf("%d %q %s %+v %q", encoderVersion, f.r.name, shapeText(f.plan.Shape()),
		f.key, f.plan.SQL())
}

// shapeText is a shape as text, those within it too.
func shapeText(s *row.Shape) string {
	if s == nil {
		return ""
	}
	text := "{"
	for _, f := range s.Fields {
		text += fmt.Sprintf("%q %q %d %t %t %s;", f.Name, f.Column, f.Kind, f.OmitNull, f.RFC3339,
			shapeText(f.Shape))
	}
	return text + "}"
}

// loadFromDisk answers leases with copies from the disk and returns those that the
// source must answer. It may wait for the disk.
func (f *revision) loadFromDisk(leases []*fresh.Lease) []*fresh.Lease {
	if f.disk == nil {
		return leases
	}
	var left []*fresh.Lease
	for _, l := range leases {
		if f.answerFromDisk(l) {
			f.r.counts.fromDisk.Add(1)
			f.sampled(l)
		} else {
			left = append(left, l)
		}
	}
	return left
}

// answerFromDisk answers one lease from the disk, if the feed is complete by now: a
// copy that nobody can vouch for is not worth more than the source. What a front
// prepares is made anew: its revision is this process's own business.
func (f *revision) answerFromDisk(l *fresh.Lease) bool {
	if l.Format == row.FormatPrepared || !f.followed() {
		return false
	}
	if state, _ := f.src.domain.Gate(monotonic()); state != fresh.Fresh {
		return false
	}
	ref := tier.Ref{Resource: f.number, Format: l.Format, Key: l.Key}
	stamp := l.Stamp
	stamp.Owner = f.number
	stamp.At = monotonic() // it may have been put a moment ago: see fresh.Domain.Shown
	doc, ok := f.disk.Load(ref, stamp)
	return ok && f.space.FinishFromDisk(l, doc, func() { f.memory.Put(ref, doc) })
}

// store returns what puts doc into the tiers under a lease. It must be called
// before the lease is finished: the disk's ticket is of before.
func (f *revision) store(l *fresh.Lease, doc *row.Document) func() {
	ref := tier.Ref{Resource: f.number, Format: l.Format, Key: l.Key}
	if f.disk == nil || l.Format == row.FormatPrepared {
		return func() { f.memory.Put(ref, doc) }
	}
	ticket := f.disk.Ticket(f.number)
	return func() {
		f.memory.Put(ref, doc)
		f.disk.PutUnder(ticket, ref, doc)
	}
}

// settledOnDisk tells the disk from where the feed would go on, were it to do so
// for what has been applied and settled. u.apply is held.
func (f *follower) settledOnDisk() {
	if f.u.disk == nil || f.changed.Load() { // what is settled, another feed has told
		return
	}
	r, ok := f.feed().(source.Resumer)
	if !ok {
		return
	}
	if p, ok := r.Checkpoint(source.Position(f.u.domain.Settled().Pos)); ok {
		f.u.disk.Applied(tier.Mark{Origin: p.Origin, Pos: uint64(p.Pos), Note: p.Note})
	}
}

// beginOnDisk says that changes may have been missed. It is called before the
// domain begins a new epoch and after: see tier.DiskSource.Begin. u.apply is
// held.
func (f *follower) beginOnDisk() {
	if f.u.disk == nil {
		return
	}
	// No checkpoint yet: what stands before pos may not be settled, and is settled
	// before the first one.
	f.u.disk.Begin(tier.Mark{})
}

// resumeOnDisk says that the feed goes on where the disk is complete, and
// reports whether what is there will be good when the feed has caught up. u.apply
// is held.
func (f *follower) resumeOnDisk() bool {
	if f.u.disk == nil {
		return false
	}
	m, ok := f.u.disk.Committed()
	return ok && f.u.disk.Resume(m)
}

// caughtUp says that what was visible after the feed went on has been applied.
func (f *follower) caughtUp() {
	f.u.apply.Lock()
	defer f.u.apply.Unlock()
	if f.suspect.Swap(false) && f.u.disk != nil {
		f.u.disk.CaughtUp()
		f.u.log.Info("the feed has caught up: what an earlier process left on disk is good")
	}
}

// A checkpoints is the disk as a feed sees it.
type checkpoints struct{ disk *tier.DiskSource }

// Complete implements source.CheckpointStore.
func (k checkpoints) Complete() (source.Checkpoint, bool) {
	m, ok := k.disk.Committed()
	if !ok {
		return source.Checkpoint{}, !k.disk.Lost()
	}
	return source.Checkpoint{Origin: m.Origin, Pos: source.Position(m.Pos), Note: m.Note}, true
}

// leaveDisk ends what an source state that is being replaced says of the disk: its
// resources are not those that keep documents there now.
func (u *sourceState) leaveDisk() {
	u.apply.Lock()
	defer u.apply.Unlock()
	u.disk = nil
}

// synced waits until what an operator has dropped is gone from the disk too: no
// feed delivers that again after a crash.
func (f *revision) synced() error {
	if f.disk == nil {
		return nil
	}
	if err := f.disk.Sync(); err != nil {
		return fmt.Errorf("%s: dropped, but not from the disk: %w", f.r.name, err)
	}
	return nil
}
