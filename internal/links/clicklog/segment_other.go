//go:build !linux

package clicklog

import "encoding/binary"

// prepare gives the file its size. Where fallocate is not at hand a mapping could
// end the process on a full disk, so records are written: a system call for each,
// and none is lost with the process either.
func (s *segment) prepare() error { return s.file.Truncate(s.size) }

// commit, touchRange and syncRange are for mapped memory, of which there is none.
func commit(b []byte, word uint32) { binary.LittleEndian.PutUint32(b, word) }

func touchRange([]byte, uint64, uint64) error { return nil }

func syncRange([]byte, uint64, uint64) error { return nil }
