package resource

import (
	"strings"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/workers"
)

// maxCopyJobs bounds the compressed copies that wait to be made. When as many
// wait, the next demand for a copy is for nothing, and a later one counts.
const maxCopyJobs = 256

// maxScratch is the largest buffer that the copier keeps between two copies.
const maxScratch = 64 << 10

// A copier makes the compressed copies of documents, one after the other in a
// goroutine of its own: no request and no load waits for it, and it never takes
// more than one processor.
//
// A copy is made when a hit would have used it, not when a document is loaded:
// most documents are read by nobody who takes the coding, or change before they
// are read again. So that hit and those until the copy is there are answered
// plainly, and a miss asks for nothing. A copy follows from the bytes of its
// document alone and is kept with it or not at all (tier.Memory.KeepCopy): whatever
// takes a document away takes its copies too, and no lease is needed.
type copier struct {
	jobs  chan copyJob
	done  chan struct{} // closed when the set is
	coder row.Coder

	made, refused, dropped, late, bytes atomic.Uint64
}

// A copyJob is one copy to be made.
type copyJob struct {
	memory *tier.Memory
	ref    tier.Ref
	doc    *row.Document
	coding row.Coding
}

func newCopier() *copier {
	return &copier{jobs: make(chan copyJob, maxCopyJobs), done: make(chan struct{})}
}

// AskCopy has the copy of doc in coding c made in the background, if it is worth
// having and nobody has asked yet. doc, a row or a list, is what a hit has given for key, which
// may alias a buffer. It never waits.
func (r *Resource) AskCopy(key row.Key, doc *row.Document, c row.Coding) {
	// Fast path: the document is small, or somebody has asked already.
	if doc.Asked(c) {
		return
	}

	// Slow path: once for each document and coding.
	f := r.revision.Load()
	if f.memory == nil {
		return
	}
	ref := tier.Ref{Resource: doc.Owner(), Format: doc.Format(), Key: key}
	if !f.memory.Ask(ref, doc, c) {
		return
	}
	ref.Key = row.Key(strings.Clone(string(key)))
	f.copier.ask(copyJob{f.memory, ref, doc.Keep(), c})
}

// ask has a copy made, unless too many are waited for.
func (k *copier) ask(j copyJob) {
	select {
	case k.jobs <- j:
	default:
		k.dropped.Add(1)
		j.memory.Unask(j.ref, j.doc, j.coding)
	}
}

// run makes copies until the set is closed.
func (k *copier) run() {
	var scratch []byte
	for {
		select {
		case <-k.done:
			return
		case j := <-k.jobs:
			made := scratch[:0]
			scratch = nil // of a copy that is not made
			workers.Guard(nil, "compress a copy", func() { made = k.make(&j, made) })()
			if cap(made) <= maxScratch {
				scratch = made
			}
		}
	}
}

// make makes one copy and returns scratch, which it may have grown.
func (k *copier) make(j *copyJob, scratch []byte) []byte {
	if !j.memory.Holds(j.ref, j.doc) {
		k.late.Add(1)
		return scratch
	}
	plain := j.doc.Body()
	scratch = k.coder.Append(scratch, plain, j.coding)
	switch {
	case !row.Pays(len(plain), len(scratch)):
		k.refused.Add(1) // for good: the document stays asked
	case !j.memory.KeepCopy(j.ref, j.doc, row.NewCopy(j.doc, j.coding, scratch)):
		k.late.Add(1)
	default:
		k.made.Add(1)
		k.bytes.Add(uint64(len(scratch)))
	}
	return scratch
}

// CopyStats counts the compressed copies of documents. How many bytes are held
// is in the statistics of the tier.
type CopyStats struct {
	Made    uint64
	Bytes   uint64 // compressed bytes of those made
	Refused uint64 // compressing them did not pay
	Dropped uint64 // not queued, because too many waited: a later hit asks again
	Late    uint64 // the document had gone, or was too large to be kept with it
}

func (k *copier) stats() CopyStats {
	return CopyStats{
		Made: k.made.Load(), Bytes: k.bytes.Load(), Refused: k.refused.Load(),
		Dropped: k.dropped.Load(), Late: k.late.Load(),
	}
}
