package tier

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// DiskOptions configure a Disk.
type DiskOptions struct {
	Path       string
	MaxBytes   int64         // of the file, apart from what one batch is written to
	Batch      int           // puts and drops of one commit; 0: 10,000
	FlushEvery time.Duration // how long they wait for others; 0: one second
	Log        *slog.Logger
}

// Disk is the Tier behind memory: documents in one bbolt file that outlives the
// process. It writes behind: puts and drops go into a queue that every read
// consults first, and are committed in batches, each with the position of the
// sources' changes up to which it is complete (DiskSource). A read may take a
// page fault: it is for goroutines that load, never for an event loop.
//
// A crash takes away the end of the queue and nothing else. What is left is what
// the tier held when a source had been applied up to the committed position;
// whoever follows that source from there drops again what the crash has undone.
// Until then, and unless that is possible, nothing of before is handed out.
//
// Rows leave in the order in which they came, the oldest first (FIFO): what is
// asked for often is in memory, and the disk is asked for the rest, for which
// the order of use says little and would cost a write for each read. Absences
// have a twentieth of the space and an order of their own.
//
// The file is a cache: one that is broken is put aside, one that cannot be
// written is removed, and the process goes on without.
type Disk struct {
	opts DiskOptions
	log  *slog.Logger
	run  uint64 // names this process in records
	file *diskFile

	lookups *lookups
	kick    chan struct{}
	syncs   chan chan error
	stop    chan struct{}
	off     chan struct{} // closed when the file is given up
	done    chan struct{} // closed when the goroutine that commits has ended

	closeOnce sync.Once
	closeErr  error          // set before done is closed
	discards  sync.WaitGroup // of the file, when it has failed

	crcFailures atomic.Uint64
	quarantines atomic.Uint64

	// mu guards what follows. It is not held during I/O and is innermost.
	mu       sync.Mutex
	crcSaid  time.Time // when the log last told of broken records
	state    diskState
	open     *batch        // takes puts and drops
	closing  *batch        // is being committed; nil: none
	moved    chan struct{} // closed when something was committed, or never will be; see Room
	sources  map[string]*DiskSource
	spaces   map[uint64]*diskSpace
	numbers  map[uint32]*binding
	counts   diskCounts
	totals   diskTotals
	putsFrom time.Time // no puts before: the disk was full
}

// diskState is what a Disk does.
type diskState uint8

const (
	diskRunning diskState = iota
	diskOff               // it has failed: it keeps nothing until the next start
	diskClosed
)

// diskTotals count since the start; guarded by Disk.mu.
type diskTotals struct {
	evicted    uint64
	batches    uint64
	refused    uint64
	commitTime time.Duration
	committed  time.Time
}

const (
	// pendingShare is the part of the bound (1/n) that may wait to be committed,
	// and maxPending its end: waiting documents are in memory.
	pendingShare = 8
	maxPending   = 64 << 20

	// maxWaiting is how many batches of puts and drops may wait. Drops cannot be
	// refused: a disk that is so far behind is given up.
	maxWaiting = 100

	// fullPause is how long nothing is put on a disk that was full.
	fullPause = time.Minute
)

var _ Tier = (*Disk)(nil)

// ErrDiskOff is what Sync returns when the tier has failed or is closed.
var ErrDiskOff = errors.New("the cache on disk is off")

// OpenDisk opens the file, or makes it. One that is broken is renamed to
// PATH.broken-TIME, and an empty one takes its place. What a file of before
// holds is handed out only when its source says so: see DiskSource.
func OpenDisk(o DiskOptions) (*Disk, error) {
	if o.Batch <= 0 {
		o.Batch = 10_000
	}
	if o.FlushEvery <= 0 {
		o.FlushEvery = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Disk{
		opts: o, log: o.Log.With("path", o.Path), run: rand.Uint64(), lookups: newLookups(),
		kick: make(chan struct{}, 1), syncs: make(chan chan error),
		stop: make(chan struct{}), off: make(chan struct{}), done: make(chan struct{}),
		open: newBatch(), moved: make(chan struct{}), sources: make(map[string]*DiskSource),
		spaces: make(map[uint64]*diskSpace), numbers: make(map[uint32]*binding),
	}
	d.totals.committed = time.Now()
	if err := d.openFile(); err != nil {
		return nil, fmt.Errorf("open the cache on disk: %w", err)
	}
	go d.commits()
	return d, nil
}

// pendingLimit is how many bytes of documents may wait.
func (d *Disk) pendingLimit() uint64 {
	return min(uint64(max(d.opts.MaxBytes, 0))/pendingShare, maxPending)
}

// Get returns what the tier holds for ref, with the stamp that it was put with:
// one of this process, or a trusted one of before. It takes a lock, allocates
// the document and may wait for the disk.
func (d *Disk) Get(ref Ref) (*row.Document, bool) {
	doc := d.find(ref, nil)
	d.lookups.count(doc != nil)
	return doc, doc != nil
}

// Load returns what the tier holds for ref as a copy under a lease: its stamp
// is under, the lease's. A copy that this process has put must have been put
// under the same epoch and generation; one of before must be trusted by its
// source. The caller has taken the lease before, and keeps the copy only if the
// lease allows, as it would with what it reads from the source.
func (d *Disk) Load(ref Ref, under row.Stamp) (*row.Document, bool) {
	doc := d.find(ref, &under)
	d.lookups.count(doc != nil)
	return doc, doc != nil
}

// find looks into the queue and then into the file. What the queue does not
// have has been committed before that look, or was never put: nothing is missed
// between the two. It returns nil for a miss.
func (d *Disk) find(ref Ref, under *row.Stamp) *row.Document {
	var room [128]byte
	d.mu.Lock()
	b := d.bound(ref.Resource)
	if d.state != diskRunning || b.retired {
		d.mu.Unlock()
		return nil
	}
	slot := appendSlot(room[:0], b.space.id, ref)
	current, trusted, file := b.space.token(), b.space.trusted(), d.file
	op, waits := d.waiting(slot)
	d.mu.Unlock()
	if waits {
		if op.doc == nil || op.token != current || !fits(op.doc.Stamp(), under) {
			return nil
		}
		return op.doc
	}
	var doc *row.Document
	err := file.read(slot, func(r *record) {
		switch {
		case r.token != current, r.run != d.run && !trusted:
		case r.run == d.run && !fits(r.stamp, under):
		case under != nil:
			doc = r.document(*under)
		default:
			doc = r.document(r.stamp)
		}
	})
	if err != nil {
		d.unreadable(slot, err)
		return nil
	}
	return doc
}

// fits reports whether a copy put under a stamp is good under another; nil: it
// is not asked.
func fits(s row.Stamp, under *row.Stamp) bool {
	return under == nil || s.Epoch == under.Epoch && s.Generation == under.Generation
}

// crcEvery is how often the log says that records are broken, with how many have been.
const crcEvery = time.Minute

// unreadable forgets a record that is broken, or the whole file when it is that.
func (d *Disk) unreadable(slot []byte, err error) {
	switch {
	case errors.Is(err, errRecord):
		dropped := d.crcFailures.Add(1)
		d.mu.Lock()
		defer d.mu.Unlock()
		if now := time.Now(); now.Sub(d.crcSaid) >= crcEvery { // a disk that fails has many
			d.crcSaid = now
			d.log.Warn("a record of the cache on disk is broken and is dropped", "err", err,
				"dropped", dropped)
		}
		if _, waits := d.waiting(slot); !waits {
			d.open.add(string(slot), diskOp{})
		}
	case errors.Is(err, errBroken):
		d.fail(err)
	}
}

// Put keeps d for ref, or forgets whatever it held: when it is too large, or
// when as many documents wait as may. ref.Key is copied.
func (d *Disk) Put(ref Ref, doc *row.Document) { d.PutUnder(d.Ticket(ref.Resource), ref, doc) }

// Drop forgets ref: when it has returned, the old copy is gone. It does not wait
// for the disk. Sync does, for drops that no source will deliver again.
func (d *Disk) Drop(ref Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.bound(ref.Resource); d.state == diskRunning && !b.retired {
		d.enqueue(string(appendSlot(nil, b.space.id, ref)), diskOp{})
	}
}

// A Ticket is the state of a resource under which a load is put: take it before
// the lease is finished. A put whose ticket is not of now is none: a change of
// all documents has come between.
type Ticket struct {
	binding *binding
	token   token
}

// Ticket returns the ticket of now for a resource.
func (d *Disk) Ticket(resource uint32) Ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.bound(resource)
	return Ticket{b, b.space.token()}
}

// PutUnder is Put under a ticket taken before.
func (d *Disk) PutUnder(t Ticket, ref Ref, doc *row.Document) {
	slot := string(appendSlot(nil, t.binding.space.id, ref))
	op := diskOp{doc: doc, token: t.token}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != diskRunning || t.binding.retired {
		return
	}
	size := op.size(slot)
	if t.token != t.binding.space.token() || len(slot) > maxSlot ||
		d.waitingBytes()+size > d.pendingLimit() || time.Now().Before(d.putsFrom) {
		d.totals.refused++
		op = diskOp{}
	}
	d.enqueue(slot, op)
}

// enqueue adds to the open batch. d.mu is held.
func (d *Disk) enqueue(slot string, op diskOp) {
	d.open.add(slot, op)
	switch n := len(d.open.ops); {
	case n >= d.opts.Batch*maxWaiting:
		// The file stays as it was at its last commit, which is a state that can
		// be trusted from its position on.
		d.abandon(fmt.Errorf("%d puts and drops wait for a commit", n))
	case n >= d.opts.Batch, d.open.bytes > d.pendingLimit()/2:
		d.commitSoon()
	}
}

// commitSoon has the queue committed as soon as what is being committed has been.
func (d *Disk) commitSoon() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// waiting returns what the queue has for slot. d.mu is held.
func (d *Disk) waiting(slot []byte) (diskOp, bool) {
	if op, ok := d.open.ops[string(slot)]; ok {
		return op, true
	}
	if d.closing == nil {
		return diskOp{}, false
	}
	op, ok := d.closing.ops[string(slot)]
	return op, ok
}
