package main

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// pebbleStore is pebble: a log-structured merge tree in a directory of files.
type pebbleStore struct {
	db    *pebble.DB
	cache *pebble.Cache
}

// cacheSize is what pebble may keep of its blocks. It is memory that the tier
// of documents in memory would not have.
const cacheSize = 256 << 20

func openPebble(path string) (store, error) {
	cache := pebble.NewCache(cacheSize)
	o := &pebble.Options{Cache: cache, MemTableSize: 64 << 20, Logger: silent{}}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(path, o)
	if err != nil {
		cache.Unref()
		return nil, err
	}
	return &pebbleStore{db, cache}, nil
}

func (s *pebbleStore) get(key []byte, see func([]byte)) error {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return fmt.Errorf("key %q is missing", key)
	}
	if err != nil {
		return err
	}
	see(v)
	return closer.Close()
}

func (s *pebbleStore) write(numbers []int, value func(int) []byte) error {
	b := s.db.NewBatch()
	for _, n := range numbers {
		if err := b.Set(key(nil, n), value(n), nil); err != nil {
			return errors.Join(err, b.Close())
		}
	}
	return errors.Join(b.Commit(pebble.Sync), b.Close())
}

func (s *pebbleStore) close() error {
	err := s.db.Close()
	s.cache.Unref()
	return err
}

// silent keeps pebble from telling of each of its compactions.
type silent struct{}

func (silent) Infof(string, ...any)         {}
func (silent) Errorf(f string, args ...any) { fmt.Printf(f+"\n", args...) }
func (silent) Fatalf(f string, args ...any) { panic("BUG: pebble: " + fmt.Sprintf(f, args...)) }
