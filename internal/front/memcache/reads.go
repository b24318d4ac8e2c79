package memcachefront

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

const (
	whole = -1 // a reply has been made to its end
	ends  = -2 // the connection is closed in place of the reply
)

// isClassic reports whether a command is one of those whose replies clients take for "there
// is no such item" when they are an error of the server: libmemcached, and what is built on it.
func isClassic(op memcache.Op) bool {
	switch op {
	case memcache.Get, memcache.Gets, memcache.Gat, memcache.Gats:
		return true
	}
	return false
}

// appendReadError appends an error of a read. It reports false when the connection is to be
// closed in its place: an outage must never be a miss, and every client says of a connection
// that is gone that it has failed. What is too large is no outage: memcached says that, too.
func appendReadError(out []byte, op memcache.Op, text string) (reply []byte, ok bool) {
	if isClassic(op) && strings.HasPrefix(text, "SERVER_ERROR") && text != memcache.TooLarge &&
		text != tooMuch {
		return out, false
	}
	return memcache.AppendLine(out, text), true
}

// render appends the reply of a read whose keys have been looked up, from one of them on,
// and returns at which it goes on: see kv.Read. An error of one key is that of the command.
// fresh says that some of it was not in memory.
func (c *conn) render(
	out []byte, cmd *memcache.Command, found []kv.Found, fresh bool, at int,
) (grown []byte, next int) {
	for i := 0; at == 0 && i < len(found); i++ {
		if text := c.f.problem(cmd, &found[i]); text != "" {
			out, ok := appendReadError(out, cmd.Op, text)
			if !ok {
				return out, ends
			}
			return out, whole
		}
	}
	switch cmd.Op {
	case memcache.MetaGet:
		return c.metaGet(out, cmd, &found[0], fresh), whole
	case memcache.MetaDebug:
		return debug(out, cmd, &found[0], fresh), whole
	case memcache.Touch:
		text := "TOUCHED"
		if _, ok := itemOf(&found[0], cmd.Keys[0], false); !ok {
			text = "NOT_FOUND"
		}
		if !cmd.Noreply {
			out = memcache.AppendLine(out, text)
		}
		return out, whole
	}
	unique := cmd.Op == memcache.Gets || cmd.Op == memcache.Gats
	for i := at; i < len(found); i++ {
		if i > at && len(out) >= kv.PieceSize {
			return out, i
		}
		if it, ok := itemOf(&found[i], cmd.Keys[i], unique); ok {
			out = memcache.AppendValue(out, &it, unique)
		}
	}
	return memcache.AppendLine(out, "END"), whole
}

// problem returns the error of a key that has no answer, "" if it has one: that there is no
// row is one.
func (f *Front) problem(cmd *memcache.Command, found *kv.Found) string {
	if found.Err != nil {
		return f.errorOf(cmd, found)
	}
	return ""
}

// itemOf returns the item of a row, and false if there is none, or none any more.
func itemOf(f *kv.Found, key []byte, unique bool) (it memcache.Item, ok bool) {
	if f.Doc == nil {
		return it, false
	}
	if f.Res.Items() && !f.List {
		was, _ := kv.PreparedItem(f.Doc)
		told := uint64(0)
		if unique {
			told = was.Unique()
		}
		return itemAt(was, told, key, time.Now())
	}
	return rowItem(f.Doc, key, leftOf(f), unique), true
}

// rowItem returns what is told of a row: its document, or a column.
func rowItem(d *row.Document, key []byte, left int64, unique bool) memcache.Item {
	it := memcache.Item{Key: key, Value: d.Body(), TTL: left}
	if d.Format() == row.FormatPrepared {
		was, _ := kv.PreparedItem(d)
		it.Value, it.Flags, it.Unique = was.Value, was.Flags, was.CAS
	}
	if unique && it.Unique == 0 {
		it.Unique = uniqueOf(d)
	}
	return it
}

// itemAt returns what is told of an item at a time, and false when it has expired.
func itemAt(i kv.Item, unique uint64, key []byte, now time.Time) (memcache.Item, bool) {
	it := memcache.Item{Key: key, Value: i.Value, Flags: i.Flags, Unique: unique,
		TTL: ttlOf(i.Expires, now), Stale: i.Stale, Sent: i.Sent}
	return it, !i.Expired(now)
}

// ttlOf returns for how many seconds an item is there that expires at a time; -1: for ever.
func ttlOf(expires int64, now time.Time) int64 {
	if expires == 0 {
		return -1
	}
	return expires - now.Unix()
}

// uniqueOf returns the cas unique of a document: the hash in its entity tag, and never 0,
// which is for none.
func uniqueOf(d *row.Document) uint64 {
	hash, _ := row.TagHash(d.ETag())
	return max(hash, 1)
}

// leftOf returns for how many seconds an answer is good: -1, as long as a feed follows it.
func leftOf(f *kv.Found) int64 {
	if !f.Uncacheable {
		return -1
	}
	return int64(f.Res.Left(f.Doc).Seconds())
}

// metaGet is mg. A miss of a quiet one is nothing at all.
func (c *conn) metaGet(out []byte, cmd *memcache.Command, f *kv.Found, fresh bool) []byte {
	it, ok := itemOf(f, cmd.Keys[0], cmd.Has('c') || cmd.Has('C'))
	if !ok {
		if cmd.Noreply {
			return out
		}
		return memcache.AppendCode(out, cmd, "EN")
	}
	it.Stale, it.Fresh = it.Stale || f.Stale, fresh
	same := cmd.Has('C') && cmd.Unique == it.Unique
	return memcache.AppendMeta(out, cmd, &it, cmd.Has('v') && !same)
}

// debug is me.
func debug(out []byte, cmd *memcache.Command, f *kv.Found, fresh bool) []byte {
	it, ok := itemOf(f, cmd.Keys[0], true)
	if !ok {
		return memcache.AppendLine(out, "EN")
	}
	fetched := "yes"
	if fresh {
		fetched = "no"
	}
	return fmt.Appendf(out, "ME %s exp=%d la=0 cas=%s fetch=%s cls=1 size=%d src=%s\r\n",
		shown(cmd.Keys[0]), it.TTL, strconv.FormatUint(it.Unique, 10), fetched, f.Doc.Size(),
		f.Res.Name())
}

// shown returns a key as a line can have it: in base64 if it has blanks or the like.
func shown(key []byte) string {
	if bytes.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return base64.StdEncoding.EncodeToString(key)
	}
	return string(key)
}
