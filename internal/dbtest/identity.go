package dbtest

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Where a data directory of PostgreSQL has its system identifier: at the beginning of
// pg_control, and in the header of each segment of its log.
const (
	segmentIdentifier = 24
	controlShortest   = 200 // bytes before the checksum of pg_control; each version has its own
	controlLongest    = 512
)

// renew gives the data directory of a server that has not run yet a system identifier of its
// own, as initdb does: hotrow tells servers apart by it. It is positive as a bigint, too.
func renew(data string) error {
	identifier := binary.LittleEndian.AppendUint64(nil, rand.Uint64()>>1)
	path := filepath.Join(data, "global", "pg_control")
	control, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	at, err := checksumAt(control)
	if err != nil {
		return err
	}
	copy(control, identifier)
	binary.LittleEndian.PutUint32(control[at:], castagnoli(control[:at]))
	if err := overwrite(path, 0, control); err != nil {
		return err
	}
	segments, err := filepath.Glob(filepath.Join(data, "pg_wal", "0000*"))
	for _, segment := range segments {
		err = errors.Join(err, overwrite(segment, segmentIdentifier, identifier))
	}
	return err
}

// checksumAt returns where pg_control has the checksum of what is before it.
func checksumAt(control []byte) (int, error) {
	for at := controlShortest; at < min(controlLongest, len(control)-4); at += 4 {
		if binary.LittleEndian.Uint32(control[at:]) == castagnoli(control[:at]) {
			return at, nil
		}
	}
	return 0, errors.New("pg_control has no checksum")
}

func castagnoli(b []byte) uint32 {
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// overwrite writes b in a file, which keeps its owner.
func overwrite(path string, at int64, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, at)
	return errors.Join(err, f.Close())
}
