package memcachefront

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

const longestTTL = 30 * 24 * 60 * 60 // seconds: a larger number is a time since 1970

var (
	touched    = outcome{"TOUCHED", "HD"}
	notNumeric = "CLIENT_ERROR cannot increment or decrement non-numeric value"
)

// hasItem reports whether the key is of an item, or of a column, and not of a document.
func (w *writing) hasItem() bool {
	res, _ := w.c.f.store.Live().Find(w.cmd.Keys[0])
	if res == nil {
		return false
	}
	if c, ok := kv.ColumnOf(res); ok {
		w.column, w.shape = &c, res.Shape()
		return true
	}
	return kv.HasItems(res)
}

// expiresAt returns when what is set now with a time of memcached expires. Rows do not.
func (w *writing) expiresAt(exptime int64) int64 {
	if w.column != nil {
		return 0
	}
	return timeOf(exptime, time.Now())
}

// timeOf returns what a time of memcached means, in seconds since 1970; 0: never.
func timeOf(exptime int64, now time.Time) int64 {
	switch {
	case exptime < 0:
		return 1 // at once
	case 0 < exptime && exptime <= longestTTL:
		return now.Unix() + exptime
	}
	return exptime
}

// nextUnique returns a number that no item has had: it grows, over restarts too, as long as
// the clock does.
func (f *Front) nextUnique() uint64 {
	for {
		last := f.unique.Load()
		next := max(last+1, uint64(time.Now().UnixNano()))
		if f.unique.CompareAndSwap(last, next) {
			return next
		}
	}
}

// A change is what a command makes of an item: the next one or, if that is nil, none.
type change struct {
	next   *kv.Item
	gone   bool // the item is deleted
	say    outcome
	text   string // said by a text command in its place, or by both when it is an error
	number bool   // text is the value of a counter
	same   bool   // the unique stays
	show   *kv.Item
	unique uint64 // that is told of what came of it

	// Of a lease: see applyLease.
	won, sent, made bool
	shown           int64 // when the item expires, where t is among the flags
}

// A standing is an item as it is, with the unique that is told of it and compared.
type standing struct {
	kv.Item
	unique uint64
}

// item changes an item, or only looks at it. What it is made of is what it was: somebody
// else's change in between has the command begin anew.
func (w *writing) item(key []byte) ([]byte, error) {
	defer w.turn(key)()
	for range front.ItemRaces {
		old, tag, err := w.current(key)
		if err != nil {
			return nil, err
		}
		ch := w.apply(old)
		if ch.next == nil && !ch.gone {
			return w.reply(&ch), nil
		}
		change := w.changeOf(&ch, tag)
		done, err := w.c.f.store.Write(w.ctx, &w.c.Who, key, &change)
		switch {
		case errors.Is(err, resource.ErrPrecondition), source.ClassOf(err) == source.NoRow:
			continue
		case err != nil:
			return nil, err
		}
		if w.column != nil && ch.next != nil {
			ch.unique = w.column.UniqueOf(w.shape, done.Doc)
		}
		return w.reply(&ch), nil
	}
	return memcache.AppendLine(nil, "SERVER_ERROR try again"), nil
}

// changeOf returns the change of a row that makes its item what ch says. tag is that of the
// row as it was, "" for none.
func (w *writing) changeOf(ch *change, tag string) kv.Change {
	c := kv.Change{Op: source.OpReplace}
	anyway := w.cmd.Op == memcache.Set && (tag != "" || w.column == nil)
	switch {
	case anyway, tag == "" && ch.gone: // whatever there is
	case tag == "":
		c.IfNoneMatch = []string{"*"}
	default:
		c.IfMatch = []string{tag}
	}
	switch {
	case ch.gone:
		c.Op = source.OpDelete
	case w.column != nil:
		if tag != "" {
			c.Op = source.OpMerge // the other columns stay
		}
		var flags []byte
		if w.cmd.Op.Stores() {
			flags = strconv.AppendUint(nil, uint64(ch.next.Flags), 10)
		}
		c.JSONNull, c.Members = true, func(shape *row.Shape) ([]byte, error) {
			return w.column.AppendMembers(nil, shape, ch.next.Value, flags)
		}
	default:
		if !ch.same {
			ch.next.CAS = w.c.f.nextUnique()
		}
		ch.unique = ch.next.Unique()
		c.Value = kv.AppendItem(nil, ch.next)
	}
	return c
}

// current returns the item as it is in the database, nil for none and for one that has
// expired, and the tag of its row, "" for none. Who sets a value in any case need not know.
func (w *writing) current(key []byte) (*standing, string, error) {
	live := w.c.f.store.Live()
	res, of := live.Find(key)
	switch {
	case res == nil: // since the command was begun
		return nil, "", live.NoResource(key)
	case !res.Writable():
		return nil, "", resource.ErrReadOnly
	case !w.c.Who.MayWrite(live, res), w.shows() &&
		!w.c.Who.Passes(live, live.IssuedNow(), res.Access().Read):
		return nil, "", kv.ErrForbidden
	case w.blind():
		return nil, "", nil
	}
	answer, err := res.Get(w.ctx, row.Key(string(of)),
		resource.Options{Format: row.FormatPrepared, NoCache: true})
	switch {
	case errors.Is(err, row.ErrKey) && !w.cmd.Op.Stores():
		return nil, "", nil // no item can have it
	case err != nil:
		return nil, "", err
	case answer.Doc.Absent():
		return nil, "", nil
	}
	it, there := kv.PreparedItem(answer.Doc)
	if !there || it.Expired(time.Now()) {
		return nil, answer.Doc.ETag(), nil
	}
	old := &standing{Item: it, unique: it.Unique()}
	if w.column != nil {
		if old.unique = it.CAS; it.CAS == 0 {
			old.unique = uniqueOf(answer.Doc)
		}
	}
	return old, answer.Doc.ETag(), nil
}

// blind reports whether the command sets the item whatever it was.
func (w *writing) blind() bool { return w.cmd.Op == memcache.Set && w.column == nil }

// shows reports whether the reply has a value.
func (w *writing) shows() bool {
	switch w.cmd.Op {
	case memcache.MetaGet, memcache.Gat, memcache.Gats:
		return true
	case memcache.Incr, memcache.Decr, memcache.MetaArith:
		return w.column != nil
	}
	return false
}

// apply returns what the command makes of an item.
func (w *writing) apply(old *standing) change {
	cmd := w.cmd
	switch cmd.Op {
	case memcache.Delete, memcache.MetaDelete:
		return w.applyDelete(old)
	case memcache.MetaGet:
		return w.applyLease(old)
	case memcache.Touch, memcache.Gat, memcache.Gats:
		if old == nil {
			return change{say: notFound}
		}
		next := old.Item
		next.Expires = w.expiresAt(cmd.Exptime)
		return change{next: &next, say: touched, show: &next, same: true}
	case memcache.Incr, memcache.Decr, memcache.MetaArith:
		return w.applyCount(old)
	}
	next := &kv.Item{Value: cmd.Data, Flags: cmd.Flags, Expires: w.expiresAt(cmd.Exptime)}
	unique := cmd.Op == memcache.CAS ||
		cmd.Op == memcache.MetaSet && cmd.Has('C') && cmd.Mode != 'E'
	before, behind := cmd.Op == memcache.Prepend || cmd.Mode == 'P',
		cmd.Op == memcache.Append || cmd.Mode == 'A'
	switch {
	case unique && old == nil && !before && !behind:
		return change{say: notFound}
	case unique && old == nil:
		return change{say: notStored}
	case unique && old.unique != cmd.Unique && !w.mayBeStale():
		return change{say: exists}
	case (cmd.Op == memcache.Add || cmd.Mode == 'E') && old != nil,
		(cmd.Op == memcache.Replace || cmd.Mode == 'R' || before || behind) && old == nil:
		return change{say: notStored}
	case before:
		next = joined(&old.Item, cmd.Data, old.Value)
	case behind:
		next = joined(&old.Item, old.Value, cmd.Data)
	}
	switch tooLarge := len(next.Value) > w.c.f.limits.Value; {
	case tooLarge && (before || behind): // as memcached has it
		return change{say: notStored}
	case tooLarge:
		return change{text: memcache.TooLarge}
	}
	if unique && old.unique != cmd.Unique {
		next.Expires, next.Stale, next.Sent = old.Expires, true, old.Sent
	}
	return change{next: next, say: stored, show: next}
}

// joined returns an item with two values in one.
func joined(old *kv.Item, a, b []byte) *kv.Item {
	next := *old
	next.Value = append(bytes.Clone(a), b...)
	next.Stale, next.Sent = false, false
	return &next
}

func (w *writing) applyDelete(old *standing) change {
	switch {
	case old == nil:
		return change{say: notFound}
	case w.cmd.Op == memcache.MetaDelete && w.cmd.Has('C') && w.cmd.Unique != old.unique:
		return change{say: exists}
	case w.cmd.Op == memcache.MetaDelete && w.cmd.Has('I'):
		return w.markStale(old)
	}
	return change{gone: true, say: deleted}
}

// applyCount is incr, decr and ma.
func (w *writing) applyCount(old *standing) change {
	cmd := w.cmd
	meta := cmd.Op == memcache.MetaArith
	delta, down := cmd.Delta, cmd.Op == memcache.Decr || cmd.Mode == 'D'
	if meta && !cmd.Has('D') {
		delta = 1
	}
	if old == nil {
		if !meta || !cmd.Has('N') {
			return change{say: notFound}
		}
		next := &kv.Item{Value: strconv.AppendUint(nil, cmd.Initial, 10),
			Expires: w.expiresAt(cmd.Vivify)}
		return change{next: next, say: stored, show: next}
	}
	if meta && cmd.Has('C') && cmd.Unique != old.unique {
		return change{say: exists}
	}
	n, err := strconv.ParseUint(string(bytes.TrimRight(old.Value, " ")), 10, 64)
	switch {
	case err != nil:
		return change{text: notNumeric}
	case !down:
		n += delta
	default:
		n -= min(n, delta)
	}
	next := old.Item
	next.Value = strconv.AppendUint(nil, n, 10)
	shown := next
	// As memcached has it: a value does not get shorter.
	for w.column == nil && len(next.Value) < len(old.Value) {
		next.Value = append(next.Value, ' ')
	}
	if len(next.Value) > len(old.Value) { // as memcached has it: it is another item
		next.Stale, next.Sent = false, false
	}
	if meta && cmd.Has('T') {
		next.Expires = w.expiresAt(cmd.Exptime)
	}
	return change{next: &next, say: stored, show: &shown, text: string(shown.Value), number: true}
}

// reply answers with what came of a change.
func (w *writing) reply(ch *change) []byte {
	switch {
	case ch.text != "" && (!ch.number || !w.cmd.Op.Meta()):
		return memcache.AppendLine(nil, ch.text)
	case w.cmd.Op == memcache.MetaGet && ch.show == nil:
		if w.cmd.Noreply {
			return nil
		}
		return memcache.AppendCode(nil, w.cmd, "EN")
	case ch.show == nil || !w.cmd.Op.Meta():
		return w.say(ch.say, nil)
	}
	if ch.next != nil {
		ch.show.Expires = ch.next.Expires
	}
	now := time.Now()
	it, _ := itemAt(*ch.show, ch.unique, w.cmd.Keys[0], now)
	if w.cmd.Op == memcache.MetaGet {
		it.Won, it.Sent, it.Fresh, it.TTL = ch.won, ch.sent, ch.made, ttlOf(ch.shown, now)
	} else {
		it.Stale, it.Sent = false, false
	}
	value := w.cmd.Has('v')
	if w.cmd.Noreply && w.cmd.Op != memcache.MetaGet {
		return nil
	}
	return memcache.AppendMeta(nil, w.cmd, &it, value)
}
