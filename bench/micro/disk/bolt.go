package main

import (
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// boltStore is bbolt: one file, mapped into memory.
type boltStore struct{ db *bolt.DB }

var documents = []byte("documents")

func openBolt(path string) (store, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(documents)
		return err
	})
	return &boltStore{db}, err
}

func (s *boltStore) get(key []byte, see func([]byte)) error {
	return s.db.View(func(tx *bolt.Tx) error {
		v := tx.Bucket(documents).Get(key)
		if v == nil {
			return fmt.Errorf("key %q is missing", key)
		}
		see(v)
		return nil
	})
}

func (s *boltStore) write(numbers []int, value func(int) []byte) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(documents)
		for _, n := range numbers {
			if err := b.Put(key(nil, n), value(n)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *boltStore) close() error { return s.db.Close() }
