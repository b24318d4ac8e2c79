package kv

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// StoreName is the name of the resource of items, and of its table.
const StoreName = "kv"

// StoreTable makes the table of items, in SQLite.
const StoreTable = `CREATE TABLE IF NOT EXISTS kv (
	key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL, flags INTEGER NOT NULL DEFAULT 0,
	expires INTEGER NOT NULL DEFAULT 0, cas INTEGER NOT NULL DEFAULT 0) STRICT`

// StoreSweep deletes items that expired before a time, a thousand at most: a transaction
// keeps fences waiting.
const StoreSweep = `DELETE FROM kv WHERE key IN
	(SELECT key FROM kv WHERE expires > 0 AND expires <= ? LIMIT 1000)`

// StoreSpec returns the resource of items: what clients have set, and no rows of others.
func StoreSpec(src string, access resource.Access) resource.Spec {
	return resource.Spec{
		Source: src, Table: &source.Spec{Name: StoreName, Table: StoreName, Key: []string{"key"}},
		Access: access, Writable: true, Preparer: ItemPreparer{},
	}
}

// An Item is what a client has set under a key: bytes, and what memcached keeps with them.
type Item struct {
	Value   []byte
	Flags   uint32
	Expires int64  // in seconds since 1970; 0: never
	CAS     uint64 // a number of its last change by memcached's protocol: see Unique

	Stale bool // a client has marked it so
	Sent  bool // a client was told that it is the one to make it anew
}

// What is kept with the flags of an item, in their column, above the 32 bits that are theirs.
const (
	staleBit = 32
	sentBit  = 33
)

// marked returns the flags of an item as its column has them.
func (it *Item) marked() uint64 {
	n := uint64(it.Flags)
	if it.Stale {
		n |= 1 << staleBit
	}
	if it.Sent {
		n |= 1 << sentBit
	}
	return n
}

// mark takes the flags of an item as its column has them.
func (it *Item) mark(n uint64) {
	it.Flags, it.Stale, it.Sent = uint32(n), n>>staleBit&1 == 1, n>>sentBit&1 == 1
}

// Unique returns what memcached's clients are told of an item, and compare: another one after
// each change of its value and flags, whoever makes it. Other fronts and SQL leave the number
// as it is, and those of memcached take a new one with the same value. It is never 0, which
// is for none, and a touch leaves it: when the item expires is no part of it.
func (it *Item) Unique() uint64 {
	const odd = 0x9e3779b97f4a7c15 // spreads the bits: neighbours do not cancel out
	hash := row.Hash(it.Value)
	hash = (hash ^ uint64(it.Flags)) * odd
	hash ^= hash >> 32
	hash = (hash ^ it.CAS) * odd
	return max(hash^hash>>32, 1)
}

// Expired reports whether the item is not there any more.
func (it *Item) Expired(now time.Time) bool { return it.Expires != 0 && it.Expires <= now.Unix() }

// Where the parts of a prepared item are.
const (
	atExpires = 5 // behind the flags, of which five bytes are kept
	atUnique  = 13
	atValue   = 21
)

// An ItemPreparer makes of a row of items what is answered from. It is a
// resource.Preparer.
type ItemPreparer struct{}

// AppendPrepared implements resource.Preparer.
func (ItemPreparer) AppendPrepared(dst []byte, shape *row.Shape, v row.Values) []byte {
	it := itemOf(shape, v)
	marked := it.marked()
	dst = append(binary.LittleEndian.AppendUint32(dst, uint32(marked)), byte(marked>>32))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(it.Expires))
	dst = binary.LittleEndian.AppendUint64(dst, it.CAS)
	return append(dst, it.Value...)
}

// itemOf reads a row.
func itemOf(shape *row.Shape, v row.Values) (it Item) {
	for i := range shape.Fields {
		if i >= len(v) || v[i].IsNull() {
			continue
		}
		switch shape.Fields[i].Column {
		case "value":
			it.Value = []byte(v[i].Text())
		case "flags":
			it.mark(uint64(v[i].Int()))
		case "expires":
			it.Expires = v[i].Int()
		case "cas":
			it.CAS = uint64(v[i].Int())
		}
	}
	return it
}

// PreparedItem returns the item of a prepared document, whose value aliases it; false: the
// row has none.
func PreparedItem(d *row.Document) (Item, bool) {
	b := d.Body()
	if len(b) < atValue {
		return Item{}, false
	}
	it := Item{
		Expires: int64(binary.LittleEndian.Uint64(b[atExpires:])),
		CAS:     binary.LittleEndian.Uint64(b[atUnique:]),
		Value:   b[atValue:len(b):len(b)],
	}
	it.mark(uint64(binary.LittleEndian.Uint32(b)) | uint64(b[atExpires-1])<<32)
	return it, true
}

// AppendItem appends the document of an item, without its key.
func AppendItem(dst []byte, it *Item) []byte {
	dst = append(dst, `{"value":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, it.Value)
	dst = strconv.AppendUint(append(dst, `","flags":`...), it.marked(), 10)
	dst = strconv.AppendInt(append(dst, `,"expires":`...), it.Expires, 10)
	dst = strconv.AppendInt(append(dst, `,"cas":`...), int64(it.CAS), 10)
	return append(dst, '}')
}

// HasItems reports whether a resource is one of items.
func HasItems(r *resource.Resource) bool {
	_, items := r.Spec().Preparer.(ItemPreparer)
	return items
}

// Items reports whether what is found of the resource are items.
func (r *Served) Items() bool { return r.items }
