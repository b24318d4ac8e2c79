// Package tier keeps documents: in memory (Memory) and behind it on disk (Disk).
// A tier may forget; it may not lie.
package tier

import (
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// Ref names one representation of one document: of a row of a resource, or of any other
// answer, such as a list.
type Ref struct {
	Resource uint32 // the number of what the answers are of, given by resource.Set
	Format   row.Format
	Key      row.Key
}

// An Evictee is a row.Attachment that is told when a Memory has evicted its document, and not
// when that is dropped or replaced. Locks may be held: it calls nothing of the Memory.
type Evictee interface {
	Evicted()
}

// A Tier keeps documents by Ref. All methods may be called at once by many
// goroutines; the caller orders Put and Drop of one key (it holds the lock of
// the key's shard in package fresh). Every Tier passes tiertest.Run.
type Tier interface {
	// Get returns what the tier holds for ref. In memory it takes no lock of
	// ours, logs nothing and allocates nothing; a tier on disk may wait for it.
	// ref.Key may alias a buffer: it is not kept.
	Get(ref Ref) (*row.Document, bool)

	// Put keeps d for ref, or forgets whatever it held. ref.Key is kept.
	Put(ref Ref, d *row.Document)

	// Drop forgets ref: when it has returned, the old copy is gone.
	Drop(ref Ref)

	// Stats returns a snapshot of the tier's counters.
	Stats() Stats

	// Close stops the tier's goroutines and frees what it holds.
	Close() error
}

// Stats is a snapshot of a tier's counters.
type Stats struct {
	Entries   uint64 // documents held, rows and absences
	Bytes     uint64 // that they take, keys and what is attached to each included
	HeldBytes uint64 // of MaxBytes, what is taken: Bytes, what is not used of it, and the index
	CopyBytes uint64 // of Bytes, those of compressed copies
	MaxBytes  uint64 // the bound
	Negative  uint64 // of Entries, those that say that there is no row
	Hits      uint64
	Misses    uint64
	Evictions uint64 // forgotten to stay within the bound

	// In memory:
	Age   time.Duration // from the load of what is evicted until then; 0: nothing was
	Limbo uint64        // of HeldBytes, what was freed and waits for readers
	Waste uint64        // of HeldBytes, what rounding and free slots take
}

// A SizeShare is what entries of a Memory take that have about one size, with what belongs to
// them.
type SizeShare struct {
	Most  int    // bytes of the largest of them, a power of two; 0: they are larger than the rest
	Bytes uint64 // held for them
	Free  uint64 // of Bytes, what has no entry
}

// A Share is what the documents of one number in one format take of a Memory.
type Share struct {
	Resource uint32 // see Ref
	Format   row.Format
	Entries  uint64
	Bytes    uint64 // compressed copies not included
}
