package links

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// A Role says what the holder of a key may do. Each may do what those before it
// may.
type Role string

// The roles.
const (
	RoleRead  Role = "read"  // look at links and their clicks
	RoleWrite Role = "write" // make, change and delete links
	RoleAdmin Role = "admin" // make and take away keys
)

// roles are all roles, the weakest first.
var roles = []Role{RoleRead, RoleWrite, RoleAdmin}

// Covers reports whether r may do what other may.
func (r Role) Covers(other Role) bool {
	return slices.Index(roles, r) >= slices.Index(roles, other)
}

// KeyPrefix begins every key, so that scanners of source code recognise one.
const KeyPrefix = "hr_"

// A Key is what is kept of an API key: never the key itself.
type Key struct {
	ID         int64
	Name       string
	Role       Role
	CreatedAt  int64 // milliseconds, as everywhere
	LastUsedAt int64 // to the minute; 0: never

	hash [sha256.Size]byte
}

// Keys are the API keys in a database. They are looked up in memory; a key that
// another program has made or taken away is noticed within seconds. Methods may
// be called by many goroutines.
type Keys struct {
	// Made is called when a key has been made here, before anybody is told its text. It is
	// set before the Keys are used; nil: nobody is told.
	Made func(context.Context)

	db  source.Store
	now func() time.Time

	mu   sync.Mutex // guards what follows
	list []Key
	read time.Time // when list was read; zero: never
	turn uint64    // of the keys: raised when this program changes them
}

// keysFor is how long the keys in memory are good for.
const keysFor = 5 * time.Second

// NewKeys returns the keys of db. now may be nil.
func NewKeys(db source.Store, now func() time.Time) *Keys {
	if now == nil {
		now = time.Now
	}
	return &Keys{db: db, now: now}
}

// List returns all keys, the oldest first. Where the database cannot be read
// and they were known before, they are as they were.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	now := k.now()
	k.mu.Lock()
	list, known, turn := k.list, !k.read.IsZero(), k.turn
	fresh := known && now.Sub(k.read) < keysFor
	if known && !fresh {
		k.read = now // one asks again; the others need not wait for it
	}
	k.mu.Unlock()
	if fresh {
		return list, nil
	}
	got, err := k.load(ctx)
	if err != nil {
		if known {
			return list, nil
		}
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turn == turn { // else a key that is gone may be among them
		k.list, k.read = got, now
	}
	return got, nil
}

// load reads the keys.
func (k *Keys) load(ctx context.Context) ([]Key, error) {
	var out []Key
	err := k.db.Query(ctx, "SELECT id, name, role, created_at, last_used_at, hash FROM link_keys"+
		" ORDER BY id", nil, func(r source.StoreRow) error {
		key := Key{ID: r.Int(0), Name: r.Text(1), Role: Role(r.Text(2)), CreatedAt: r.Int(3),
			LastUsedAt: r.Int(4)}
		if copy(key.hash[:], r.Bytes(5)) == sha256.Size {
			out = append(out, key)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the API keys: %w", err)
	}
	return out, nil
}

// Find returns the key whose text is secret. Its time depends on the number of
// keys, not on which of them is nearly right.
func (k *Keys) Find(ctx context.Context, secret string) (Key, bool, error) {
	list, err := k.List(ctx)
	if err != nil {
		return Key{}, false, err
	}
	sum := sha256.Sum256([]byte(secret))
	found := -1
	for i := range list {
		if subtle.ConstantTimeCompare(list[i].hash[:], sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 || !strings.HasPrefix(secret, KeyPrefix) {
		return Key{}, false, nil
	}
	k.used(ctx, list[found].ID)
	return list[found], true, nil
}

// used notes that a key is in use, once a minute.
func (k *Keys) used(ctx context.Context, id int64) {
	now := k.now().UnixMilli()
	k.mu.Lock()
	at := slices.IndexFunc(k.list, func(key Key) bool { return key.ID == id })
	due := at >= 0 && now-k.list[at].LastUsedAt >= time.Minute.Milliseconds()
	if due {
		k.list = slices.Clone(k.list) // others may be reading it
		k.list[at].LastUsedAt = now
	}
	k.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	// For people to look at: a request does not fail for it.
	_, _ = k.db.Tx(ctx, func(tx source.StoreTx) error {
		_, err := tx.Exec(ctx, "UPDATE link_keys SET last_used_at = ? WHERE id = ?", now, id)
		return err
	})
}

// Add makes a key and returns its text, which is kept nowhere.
func (k *Keys) Add(ctx context.Context, name string, role Role) (Key, string, error) {
	if !isLine(name, 100) || strings.TrimSpace(name) == "" {
		return Key{}, "", refuse("name", "it must have 1 to 100 characters, no control ones")
	}
	if !slices.Contains(roles, role) {
		return Key{}, "", refuse("role", "it must be read, write or admin")
	}
	secret := KeyPrefix + strings.ToLower(rand.Text())
	key := Key{Name: name, Role: role, CreatedAt: k.now().UnixMilli(),
		hash: sha256.Sum256([]byte(secret))}
	_, err := k.db.Tx(ctx, func(tx source.StoreTx) error {
		var err error
		key.ID, _, err = tx.Insert(ctx, "link_keys",
			[]string{"name", "hash", "role", "created_at"}, name, key.hash[:], string(role),
			key.CreatedAt)
		return err
	})
	if err != nil {
		return Key{}, "", fmt.Errorf("make an API key: %w", err)
	}
	k.forget()
	if k.Made != nil {
		k.Made(ctx)
	}
	return key, secret, nil
}

// ErrNoKey is the error of a key that is not there.
var ErrNoKey = errors.New("there is no such key")

// Remove takes a key away. It is worth nothing from then on.
func (k *Keys) Remove(ctx context.Context, id int64) error {
	n := int64(0)
	_, err := k.db.Tx(ctx, func(tx source.StoreTx) error {
		var err error
		n, err = tx.Exec(ctx, "DELETE FROM link_keys WHERE id = ?", id)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove an API key: %w", err)
	}
	k.forget()
	if n == 0 {
		return ErrNoKey
	}
	return nil
}

// forget has the keys read again by whoever needs them next.
func (k *Keys) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read = time.Time{}
	k.turn++
}
