package memcachefront

import (
	"time"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

// A lease tells one client of an item that it is the one to make it anew: because there was
// none (N), because it soon expires (R), or because somebody has marked it as stale (md with
// I). Who else asks hears that somebody does. It is kept with the item, for all that ask.

// leaseDue reports whether the reply to an mg changes the item that was found. A client that
// may not write gets no lease.
func (c *conn) leaseDue(
	live *kv.Options, cmd *memcache.Command, f *kv.Found, now time.Time,
) bool {
	if f.Res == nil || !f.Res.Items() || f.List || f.Err != nil {
		return false
	}
	it, there := kv.Item{}, false
	if f.Doc != nil {
		it, there = kv.PreparedItem(f.Doc)
	}
	due := cmd.Has('N')
	if there && !it.Expired(now) {
		due = wins(cmd, &it, it.Expires, now)
	}
	return due && c.mayLease(live, f.Res)
}

// asksForLease reports whether a command may make an item, or has to know how long it has left.
func (t *turn) asksForLease(cmd *memcache.Command) bool {
	if cmd.Op != memcache.MetaGet || !cmd.Has('N') && !cmd.Has('R') {
		return false
	}
	res, _, _ := t.s.Find(cmd.Keys[0])
	return res != nil && res.Items() && t.c.mayLease(t.s.Live, res)
}

// mayLease reports whether the client may write items.
func (c *conn) mayLease(live *kv.Options, res *kv.Served) bool {
	return res.Writable() && c.Who.MayWrite(live, res.Resource)
}

// wins reports whether who reads an item is the one to make it anew. expires is what it has
// where R is among the flags.
func wins(cmd *memcache.Command, it *kv.Item, expires int64, now time.Time) bool {
	return !it.Sent && (it.Stale || cmd.Has('R') && expires != 0 &&
		expires < timeOf(cmd.Recache, now))
}

// applyLease is mg of an item. Flags count in their order.
func (w *writing) applyLease(old *standing) change {
	now := time.Now()
	made := old == nil
	if made {
		if !w.cmd.Has('N') {
			return change{say: notFound}
		}
		old = new(standing)
	}
	next, atR, shown := old.Item, old.Expires, old.Expires
	for _, f := range w.cmd.MetaFlags() {
		switch f[0] {
		case 'N':
			if made {
				next.Expires = w.expiresAt(w.cmd.Vivify)
			}
		case 'T':
			next.Expires = w.expiresAt(w.cmd.Exptime)
		case 'R':
			atR = next.Expires
		case 't':
			shown = next.Expires
		}
	}
	if made {
		next.Sent = true
		return change{next: &next, show: &next, won: true, made: true, shown: shown}
	}
	ch := change{show: &next, same: true, unique: old.unique, sent: old.Sent, shown: shown,
		won: wins(w.cmd, &old.Item, atR, now)}
	next.Sent = old.Sent || ch.won
	if next.Expires != old.Expires || next.Sent != old.Sent {
		ch.next = &next
	}
	return ch
}

// markStale is md with I: the item stays, with another unique, and the next client that asks
// for it is told to make it anew.
func (w *writing) markStale(old *standing) change {
	next := old.Item
	next.Stale, next.Sent = true, false
	if w.cmd.Has('T') {
		next.Expires = w.expiresAt(w.cmd.Exptime)
	}
	return change{next: &next, say: deleted}
}

// mayBeStale reports whether a value is taken, and marked as stale, although its unique is an
// older one. Uniques have no order: any other is taken for an older.
func (w *writing) mayBeStale() bool {
	return w.cmd.Op == memcache.MetaSet && w.cmd.Has('I') &&
		(w.cmd.Mode == 0 || w.cmd.Mode == 'S' || w.cmd.Mode == 'R')
}
