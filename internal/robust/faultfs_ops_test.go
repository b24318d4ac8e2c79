package robust

import (
	"bytes"
	bits "encoding/binary"
	"syscall"
)

// The kernel's side of FUSE, protocol 7.31, as far as one directory of files needs
// it (linux/fuse.h).

var le = bits.LittleEndian

type opcode uint32

const (
	opLookup      opcode = 1
	opForget      opcode = 2
	opGetattr     opcode = 3
	opSetattr     opcode = 4
	opUnlink      opcode = 10
	opRename      opcode = 12
	opOpen        opcode = 14
	opRead        opcode = 15
	opWrite       opcode = 16
	opStatfs      opcode = 17
	opRelease     opcode = 18
	opFsync       opcode = 20
	opFlush       opcode = 25
	opInit        opcode = 26
	opOpendir     opcode = 27
	opReaddir     opcode = 28
	opReleasedir  opcode = 29
	opFsyncdir    opcode = 30
	opAccess      opcode = 34
	opCreate      opcode = 35
	opInterrupt   opcode = 36
	opBatchForget opcode = 42
	opRename2     opcode = 45
)

// rootNode is the directory.
const rootNode = 1

// A request is what the kernel asks of a node.
type request struct {
	op   opcode
	node uint64
	body []byte
}

// do answers one request.
func (f *faultFS) do(q *request) ([]byte, syscall.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.fail; q.op == opRead && x.reads || q.op == opWrite && x.writes ||
		q.op == opFsync && x.syncs {
		f.failed++
		return nil, syscall.EIO
	}
	switch q.op {
	case opInit:
		return answerInit(), 0
	case opOpendir, opOpen:
		return make([]byte, 16), 0
	case opRelease, opReleasedir, opFlush, opFsyncdir, opAccess:
		return nil, 0
	case opStatfs:
		return answerStatfs(), 0
	case opReaddir:
		return f.list(q.body), 0
	case opLookup, opCreate, opUnlink, opRename, opRename2:
		return f.named(q)
	}
	if q.node == rootNode && q.op == opGetattr {
		return answerAttr(nil), 0
	}
	n := f.nodes[q.node]
	if n == nil {
		return nil, syscall.ENOSYS
	}
	return n.do(q)
}

// named answers what is asked by a name.
func (f *faultFS) named(q *request) ([]byte, syscall.Errno) {
	skip := map[opcode]int{opCreate: 16, opRename: 8, opRename2: 16}[q.op]
	names := bytes.Split(q.body[skip:], []byte{0})
	name := string(names[0])
	n := f.names[name]
	switch q.op {
	case opCreate:
		if n == nil {
			n = &inode{id: uint64(len(f.nodes)) + 2}
			f.nodes[n.id], f.names[name] = n, n
		}
		return append(answerEntry(n), make([]byte, 16)...), 0
	case opLookup:
		if n == nil {
			return nil, syscall.ENOENT
		}
		return answerEntry(n), 0
	}
	if n == nil {
		return nil, syscall.ENOENT
	}
	delete(f.names, name)
	if q.op != opUnlink {
		f.names[string(names[1])] = n
	}
	return nil, 0
}

// do answers what is asked of a file.
func (n *inode) do(q *request) ([]byte, syscall.Errno) {
	switch q.op {
	case opGetattr:
		return answerAttr(n), 0
	case opSetattr:
		const size = 1 << 3
		if le.Uint32(q.body)&size != 0 {
			n.change(change{size: int(le.Uint64(q.body[16:]))})
		}
		return answerAttr(n), 0
	case opRead:
		at, size := int(le.Uint64(q.body[8:])), int(le.Uint32(q.body[16:]))
		at = min(at, len(n.data))
		return bytes.Clone(n.data[at:min(at+size, len(n.data))]), 0
	case opWrite:
		const head = 40
		n.change(change{at: int(le.Uint64(q.body[8:])), bytes: bytes.Clone(q.body[head:]), size: -1})
		return le.AppendUint64(nil, uint64(len(q.body)-head)), 0
	case opFsync:
		n.durable, n.unsynced = bytes.Clone(n.data), nil
		return nil, 0
	}
	return nil, syscall.ENOSYS
}

// list answers with the names of the directory, all of them at once.
func (f *faultFS) list(body []byte) []byte {
	var b []byte
	if le.Uint64(body[8:]) > 0 { // the kernel has had them
		return nil
	}
	at := uint64(0)
	for name, n := range f.names {
		at++
		b = le.AppendUint64(le.AppendUint64(b, n.id), at)
		b = le.AppendUint32(le.AppendUint32(b, uint32(len(name))), syscall.DT_REG)
		b = append(b, name...)
		b = append(b, make([]byte, (8-len(b)%8)%8)...)
	}
	return b[:min(len(b), int(le.Uint32(body[16:])))]
}

func answerInit() []byte {
	b := le.AppendUint32(le.AppendUint32(nil, 7), 31)
	b = le.AppendUint32(b, 0)             // no reading ahead: a page that was not asked for is not there
	b = le.AppendUint32(b, 1<<5)          // writes may be larger than a page
	b = le.AppendUint16(b, 0)             // requests in the background: as the kernel likes
	b = le.AppendUint16(b, 0)             //
	b = le.AppendUint32(b, maxWrite)      //
	b = le.AppendUint32(b, 1)             // nanosecond
	return append(b, make([]byte, 36)...) // 64 bytes
}

func answerStatfs() []byte {
	b := make([]byte, 80)
	for i, v := range []uint64{1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19} {
		le.PutUint64(b[8*i:], v)
	}
	le.PutUint32(b[40:], 4096) // bytes of a block
	le.PutUint32(b[44:], 255)  // of a name
	le.PutUint32(b[48:], 4096)
	return b
}

// appendAttr appends the attributes of a file, or of the directory (nil).
func appendAttr(b []byte, n *inode) []byte {
	id, size, mode, links := uint64(rootNode), 0, uint32(syscall.S_IFDIR|0o755), uint32(2)
	if n != nil {
		id, size, mode, links = n.id, len(n.data), syscall.S_IFREG|0o600, 1
	}
	b = le.AppendUint64(le.AppendUint64(b, id), uint64(size))
	b = le.AppendUint64(b, uint64(size+511)/512)
	b = append(b, make([]byte, 3*8+3*4)...) // times
	b = le.AppendUint32(le.AppendUint32(b, mode), links)
	b = append(b, make([]byte, 3*4)...) // owner, group, device
	return le.AppendUint32(le.AppendUint32(b, 4096), 0)
}

func answerAttr(n *inode) []byte { return appendAttr(make([]byte, 16), n) }

func answerEntry(n *inode) []byte {
	return appendAttr(append(le.AppendUint64(nil, n.id), make([]byte, 32)...), n)
}
