package robust

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
)

// A faultFS is a file system of one directory, in the memory of the test and
// mounted through FUSE, that fails when it is told to and that knows what has been
// synced: so a disk that gives errors and a machine that loses its power can be
// had for real, system call by system call. Names are durable at once, as on a
// file system with a journal; what is in the files is durable when it is synced.
type faultFS struct {
	t    testing.TB
	dir  string
	fd   int
	done chan struct{} // closed when the kernel asks nothing any more

	mu     sync.Mutex // guards what follows
	nodes  map[uint64]*inode
	names  map[string]*inode
	fail   faults
	failed int // requests that got an error
	hold   *held
}

// A held is the sync at which everything stops.
type held struct{ reached, released chan struct{} }

// faults are the kinds of requests that get EIO.
type faults struct{ reads, writes, syncs bool }

// An inode is a file, as it is and as it was at its last sync.
type inode struct {
	id       uint64
	data     []byte
	durable  []byte
	unsynced []change // since then, in order
}

// A change is one write, or a new length.
type change struct {
	at    int
	bytes []byte
	size  int // of the whole file; -1: a write
}

func (n *inode) apply(c change) {
	if c.size >= 0 {
		n.data = resized(n.data, c.size)
		return
	}
	n.data = resized(n.data, max(len(n.data), c.at+len(c.bytes)))
	copy(n.data[c.at:], c.bytes)
}

func (n *inode) change(c change) {
	n.apply(c)
	n.unsynced = append(n.unsynced, c)
}

func resized(b []byte, size int) []byte {
	if size <= len(b) {
		return b[:size]
	}
	return append(b, make([]byte, size-len(b))...)
}

// newFaultFS mounts one, until the test ends.
func newFaultFS(t testing.TB) *faultFS {
	t.Helper()
	f := &faultFS{t: t, dir: t.TempDir(), done: make(chan struct{}),
		nodes: make(map[uint64]*inode), names: make(map[string]*inode)}
	var err error
	if f.fd, err = syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0); err != nil {
		t.Fatalf("open /dev/fuse: %v (root and a kernel with FUSE are needed)", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", f.fd)
	if err := syscall.Mount("faults", f.dir, "fuse", 0, options); err != nil {
		_ = syscall.Close(f.fd)
		t.Fatalf("mount a file system: %v (root is needed)", err)
	}
	go f.serve()
	t.Cleanup(func() {
		if err := syscall.Unmount(f.dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
		<-f.done
		_ = syscall.Close(f.fd)
	})
	return f
}

// set says which requests fail from now on, and makes the kernel forget the pages
// that it has read.
func (f *faultFS) set(x faults) {
	f.mu.Lock()
	f.fail = x
	var ids []uint64
	for _, n := range f.names {
		ids = append(ids, n.id)
	}
	f.mu.Unlock()
	for _, id := range ids {
		const invalidate = 2 // pages of an inode, from an offset on; 0 bytes: all
		b := le.AppendUint64(nil, id)
		_ = f.reply(0, invalidate, append(b, make([]byte, 16)...)) // it may not have any
	}
}

// errors returns how many requests got an error.
func (f *faultFS) errors() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// holdSync stops everything when a file is synced next: reached is closed then. It
// goes on, with an error, when release is called.
func (f *faultFS) holdSync() (reached <-chan struct{}, release func()) {
	h := &held{make(chan struct{}), make(chan struct{})}
	f.mu.Lock()
	f.hold = h
	f.mu.Unlock()
	return h.reached, func() {
		f.mu.Lock()
		f.hold = nil
		f.mu.Unlock()
		close(h.released)
	}
}

// held waits if this is the sync to wait at, and reports whether it was.
func (f *faultFS) held(q *request) bool {
	f.mu.Lock()
	h := f.hold
	if h == nil || q.op != opFsync || f.nodes[q.node] == nil || len(f.nodes[q.node].unsynced) == 0 {
		f.mu.Unlock()
		return false
	}
	f.mu.Unlock()
	close(h.reached)
	<-h.released
	return true
}

// powerCut loses what was not synced: of each write since the last sync any
// sectors may have got to the disk, in any order. Nobody may have files open.
func (f *faultFS) powerCut() (lost int) {
	const sector = 512
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.names {
		n.data = bytes.Clone(n.durable)
		for _, c := range n.unsynced {
			if c.size >= 0 {
				if rand.IntN(2) == 0 {
					n.apply(c)
				}
				continue
			}
			for at := 0; at < len(c.bytes); at += sector {
				if rand.IntN(2) == 0 {
					lost++
					continue
				}
				end := min(at+sector, len(c.bytes))
				n.apply(change{at: c.at + at, bytes: c.bytes[at:end], size: -1})
			}
		}
		n.durable, n.unsynced = bytes.Clone(n.data), nil
	}
	return lost
}

// maxWrite bounds the bytes of one write.
const maxWrite = 128 << 10

// serve answers the kernel until the file system is unmounted.
func (f *faultFS) serve() {
	defer close(f.done)
	buf := make([]byte, maxWrite+4096)
	for {
		n, err := syscall.Read(f.fd, buf)
		switch err {
		case nil:
		case syscall.EINTR, syscall.EAGAIN, syscall.ENOENT: // the last: it was interrupted
			continue
		default:
			return
		}
		const head = 40
		q := request{op: opcode(le.Uint32(buf[4:])), node: le.Uint64(buf[16:]), body: buf[head:n]}
		if q.op == opForget || q.op == opBatchForget || q.op == opInterrupt {
			continue // which have no answer
		}
		var body []byte
		errno := syscall.EIO
		if !f.held(&q) {
			body, errno = f.do(&q)
		}
		if err := f.reply(le.Uint64(buf[8:]), -int32(errno), body); err != nil && err != syscall.ENOENT {
			return
		}
	}
}

// reply sends an answer, or, with no number, a notification.
func (f *faultFS) reply(unique uint64, code int32, body []byte) error {
	b := le.AppendUint32(nil, uint32(16+len(body)))
	b = le.AppendUint32(b, uint32(code))
	b = append(le.AppendUint64(b, unique), body...)
	_, err := syscall.Write(f.fd, b)
	return err
}
