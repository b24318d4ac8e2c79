package tier

import (
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/row"
)

// attachments are what is attached to documents, by numbers from 1 on: an arena holds no
// pointers. A reader that has read a number of an entry takes what it stands for as good only
// if the entry is still in its place in the index afterwards: a number is given to another
// entry only once its own has left its place.
type attachments struct {
	chunks atomic.Pointer[[]*attachmentChunk]
	bytes  atomic.Int64 // that they take of Go's heap

	mu   sync.Mutex // guards the rest, and changes
	free []uint32
	next uint32 // the highest number so far
}

const (
	attachmentChunkSize = 1 << 10
	attachmentHead      = 24 // bytes that an attachment takes here
)

type attachmentChunk [attachmentChunkSize]atomic.Pointer[row.Attachment]

func attachedBytes(a row.Attachment) int64 { return attachmentHead + int64(a.Size()) }

// add returns a number for a; 0 for nil.
func (t *attachments) add(a row.Attachment) uint32 {
	if a == nil {
		return 0
	}
	t.bytes.Add(attachedBytes(a))
	t.mu.Lock()
	defer t.mu.Unlock()
	var n uint32
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
	} else {
		t.next++
		n = t.next
	}
	var chunks []*attachmentChunk
	if p := t.chunks.Load(); p != nil {
		chunks = *p
	}
	for int(n/attachmentChunkSize) >= len(chunks) {
		chunks = append(chunks[:len(chunks):len(chunks)], new(attachmentChunk))
		t.chunks.Store(&chunks)
	}
	chunks[n/attachmentChunkSize][n%attachmentChunkSize].Store(&a)
	return n
}

// get returns what a number stands for; nil: nothing.
func (t *attachments) get(n uint32) row.Attachment {
	p := (*t.chunks.Load())[n/attachmentChunkSize][n%attachmentChunkSize].Load()
	if p == nil {
		return nil
	}
	return *p
}

// remove frees a number, and returns what it stood for; 0 is none.
func (t *attachments) remove(n uint32) row.Attachment {
	if n == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p := (*t.chunks.Load())[n/attachmentChunkSize][n%attachmentChunkSize].Swap(nil)
	t.free = append(t.free, n)
	t.bytes.Add(-attachedBytes(*p))
	return *p
}
