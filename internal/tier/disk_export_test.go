package tier

import (
	"slices"

	bolt "go.etcd.io/bbolt"
)

// NoSync makes commits return before they are on disk, for tests that make
// thousands. Call it before the first Put.
func (d *Disk) NoSync() { d.file.db.NoSync = true }

// HoldCommits has commits wait until it is released, as by a disk that is slow.
func (d *Disk) HoldCommits() (release func(), err error) {
	tx, err := d.file.db.Begin(true)
	if err != nil {
		return nil, err
	}
	return func() { _ = tx.Rollback() }, nil
}

// PendingLimit is how many bytes of documents may wait.
func (d *Disk) PendingLimit() uint64 { return d.pendingLimit() }

// Break flips a byte of every third record: of its document, or of its slot too. It
// returns how many it has broken.
func (d *Disk) Break(slots bool) (n int, err error) {
	err = d.file.db.Update(func(tx *bolt.Tx) error {
		docs := tx.Bucket(classBuckets[rowClass])
		broken := make(map[string][]byte)
		i := 0
		_ = docs.ForEach(func(k, v []byte) error {
			if i++; i%3 == 0 {
				b := slices.Clone(v)
				b[len(b)-1] ^= 1
				if slots {
					b[recordHead+slotHead] ^= 1
				}
				broken[string(k)] = b
			}
			return nil
		})
		for k, v := range broken {
			if err := docs.Put([]byte(k), v); err != nil {
				return err
			}
		}
		n = len(broken)
		return nil
	})
	return n, err
}

// Indexed returns how many entries the index has, what they are charged, and how many
// of them lead to no record.
func (d *Disk) Indexed() (entries, bytes uint64, astray int) {
	_ = d.file.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(indexBucket).ForEach(func(_, v []byte) error {
			at, err := decodePlace(v)
			if err != nil || tx.Bucket(classBuckets[at.class]).Get(at.number[:]) == nil {
				astray++
			}
			entries++
			bytes += uint64(at.charge)
			return nil
		})
	})
	return entries, bytes, astray
}
