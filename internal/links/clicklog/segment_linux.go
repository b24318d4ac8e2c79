package clicklog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// prepare gives the file its space and maps it. The space is allocated, not only
// promised: a store to a page for which a full disk has no block would end the
// process (SIGBUS). A file system that promises nothing, because it copies on
// write or does not know fallocate, gets the slower form without a mapping.
func (s *segment) prepare() error {
	fd := int(s.file.Fd())
	err := unix.Fallocate(fd, 0, 0, s.size)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(fd, 0, 0, s.size)
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || copiesOnWrite(fd) {
		return s.file.Truncate(s.size)
	}
	if err != nil {
		return fmt.Errorf("allocate %d bytes for a segment: %w", s.size, err)
	}
	mem, err := unix.Mmap(fd, 0, int(s.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map a segment: %w", err)
	}
	s.mem = mem
	// A writer may be used after Close: what it has stays mapped until nobody can
	// reach it any more.
	once := sync.OnceFunc(func() { _ = unix.Munmap(mem) })
	cleanup := runtime.AddCleanup(s, func(unmap func()) { unmap() }, once)
	s.unmap = func() {
		cleanup.Stop()
		once()
	}
	return nil
}

// copiesOnWrite reports whether allocated space is allocated again at a write.
func copiesOnWrite(fd int) bool {
	const bcachefs, zfs = 0xca451a4e, 0x2fc12fc1
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.BTRFS_SUPER_MAGIC, bcachefs, zfs:
		return true
	}
	return false
}

// commit stores a commit word behind (in time) all stores before it.
func commit(b []byte, word uint32) {
	var le [4]byte
	binary.LittleEndian.PutUint32(le[:], word)
	_ = b[3]
	atomic.StoreUint32((*uint32)(unsafe.Pointer(unsafe.SliceData(b))),
		binary.NativeEndian.Uint32(le[:]))
}

// touchRange makes the kernel give the process each page for writing: it takes
// the file system's locks and may wait for its journal, which a loop must not.
// It is a system call, because who waits in one leaves his processor to others;
// who waits in a page fault keeps it, and a loop may wait for that.
func touchRange(mem []byte, from, to uint64) error {
	to = min((to+pageSize-1)&^(pageSize-1), uint64(len(mem)))
	for {
		err := unix.Madvise(mem[from:to], unix.MADV_POPULATE_WRITE)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case errors.Is(err, unix.EINVAL): // before Linux 5.14
			return touchEach(mem, from, to)
		case err != nil:
			return fmt.Errorf("touch pages of a segment: %w", err)
		}
		return nil
	}
}

// touchEach is touchRange by stores. Or with nothing changes no byte, whatever the
// writer stores meanwhile. A page that cannot be read from the disk is an error
// here, and not the process's end.
func touchEach(mem []byte, from, to uint64) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("touch a page of a segment: %v", r)
		}
	}()
	for at := from; at < to; at += pageSize {
		atomic.OrUint32((*uint32)(unsafe.Pointer(&mem[at])), 0)
	}
	return nil
}

// syncRange is an fdatasync of a part of the file.
func syncRange(mem []byte, from, to uint64) error {
	err := unix.Msync(mem[from:to], unix.MS_SYNC)
	for errors.Is(err, unix.EINTR) {
		err = unix.Msync(mem[from:to], unix.MS_SYNC)
	}
	if err != nil {
		return fmt.Errorf("sync a segment: %w", err)
	}
	return nil
}
