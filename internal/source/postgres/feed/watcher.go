package feed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// A Watcher finds changes that no feed delivers: of definitions, of the files of a
// table (TRUNCATE of one partition, a rewrite), of the publication.
type Watcher struct {
	Names       Names
	Check       func(*Facts) []source.Finding // what the mode needs, failures only
	Definitions *Definitions

	Publication string // of the logical feed; "": triggers tell of changes
	Reconnect   func() // has loads use new connections; nil: nobody loads

	// tables are those that it looks at; replaced with turn held.
	tables atomic.Pointer[[]source.Watched]

	// turn is held by who looks, until the handler has been told of what was found.
	turn sync.Mutex

	// reported is what the handler was told; nil: not looked yet.
	reported atomic.Pointer[Diff]

	// snapshot names the transactions that were visible when the sum was last found
	// to be that of told: while it is the same, so is the catalogue.
	snapshot atomic.Pointer[string]

	// aside is what LookAside has found last.
	aside atomic.Pointer[asideDiff]
}

// An asideDiff is what was found while nobody could tell the handler: since is what it
// had been told of.
type asideDiff struct{ since, found *Diff }

// A Diff is what has changed since what was last accepted.
type Diff struct {
	Tables       []string         // that may not be what they were, neither definition nor rows
	all          bool             // a resource without tables may not be what it was
	names        bool             // a query may mean other things by its names
	Coarse       map[string]bool  // the tables that are coarse now: see Table.Coarse
	Watched      []source.Watched // what was looked at: who is told follows these from now on
	fingerprints map[string]string
	stamps       stamps
	Reported     chan struct{} // closed when the handler has been told
}

// Empty reports whether nothing has changed.
func (l *Diff) Empty() bool { return len(l.Tables) == 0 && !l.all }

// Digest returns a text that changes when anything does.
func (l *Diff) Digest() *string {
	sum := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(l.fingerprints)) {
		fmt.Fprintf(sum, "%q %q;", id, l.fingerprints[id])
	}
	text := hex.EncodeToString(sum.Sum(nil)[:16])
	return &text
}

// Tx is what the handler is told of the rows, at a position.
func (l *Diff) Tx(pos source.Position) *source.Tx {
	return &source.Tx{Pos: pos, Tables: l.Tables, All: l.all}
}

// Accept notes that the handler has been told, or is about to be. What was found
// and not accepted is found again.
func (l *Watcher) Accept(found *Diff) {
	l.reported.Store(found)
	l.snapshot.Store(nil)
	close(found.Reported)
}

// lookTx is the transaction of a look: one snapshot.
var lookTx = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// Tables returns the tables that the watcher looks at.
func (l *Watcher) Tables() []source.Watched { return *l.tables.Load() }

// Look returns what has changed since what was last accepted; the first finds nothing.
// Its error is a *Broken when the feed cannot be trusted any more.
func (l *Watcher) Look(ctx context.Context, c *Control) (*Diff, error) {
	var out *Diff
	err := c.Do(ctx, func(conn *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, lookTx, func(tx pgx.Tx) error {
			defs, version := l.Definitions.all()
			now, err := l.read(ctx, tx, defs)
			if err != nil {
				return err
			}
			facts, err := ReadFacts(ctx, tx.Conn(), now.Watched, l.Names)
			if err != nil {
				return err
			}
			if failed := l.Check(facts); len(failed) > 0 {
				return &Broken{Reason: Sentence(failed), Err: Refusal(failed)}
			}
			now.stamps.version = version
			l.compare(l.base(), now, defs)
			now.Coarse = make(map[string]bool)
			for _, t := range facts.Tables {
				now.Coarse[t.ID()] = t.Coarse()
			}
			out = now
			return nil
		})
	})
	return out, err
}

// read returns the catalogue as it is.
func (l *Watcher) read(
	ctx context.Context, tx pgx.Tx, defs map[string]Definition,
) (*Diff, error) {
	watched := l.Tables()
	closure, err := readClosure(ctx, tx, watchedIDs(watched), defs)
	if err != nil {
		return nil, err
	}
	out := &Diff{fingerprints: make(map[string]string), Reported: make(chan struct{}),
		Watched: watched}
	out.stamps.publication, out.stamps.server = l.Publication, serverVersion(tx.Conn())
	seen := make(map[object]bool)
	for _, objects := range closure {
		for _, o := range objects {
			if !seen[o] {
				seen[o] = true
				out.stamps.add(o)
			}
		}
	}
	for _, d := range defs {
		out.stamps.views = append(out.stamps.views, d.Views...)
	}
	for _, id := range watchedIDs(watched) {
		if len(closure[id]) == 0 {
			out.stamps.missing = append(out.stamps.missing, id)
		}
	}
	found, err := readStamps(ctx, tx, &out.stamps)
	if err != nil {
		return nil, err
	}
	tables := make(map[string]bool, len(watched)) // the others are definitions of resources
	for _, w := range watched {
		tables[w.Table] = true
	}
	for owner, objects := range closure {
		print := new(strings.Builder)
		if tables[owner] { // what was not published meanwhile is in no stream
			fmt.Fprintf(print, "%s;", found[object{stampPublish, 0}])
		}
		for _, o := range objects {
			fmt.Fprintf(print, "%s%d %s;", o.kind, o.oid, found[o])
			if o.kind == stampProc {
				fmt.Fprintf(print, "%s;", found[object{stampProc, 0}])
			}
		}
		out.fingerprints[owner] = print.String()
	}
	var total *string
	out.stamps.prepare()
	err = tx.QueryRow(ctx, out.stamps.sum, out.stamps.args...).Scan(&total)
	if total != nil {
		out.stamps.total = *total
	}
	return out, err
}

// base returns what a look is compared with: what was last accepted, or what was found
// before anything was; nil: there was no look.
func (l *Watcher) base() *Diff {
	told, aside := l.reported.Load(), l.aside.Load()
	if told == nil && aside != nil {
		return aside.found
	}
	return told
}

// compare notes how now differs from before. Of a table that was not looked at then it says
// nothing.
func (l *Watcher) compare(before, now *Diff, defs map[string]Definition) {
	if before == nil {
		return
	}
	changed := make(map[string]bool)
	for _, w := range before.Watched {
		changed[w.Table] = before.fingerprints[w.Table] != now.fingerprints[w.Table]
	}
	for name, d := range defs {
		if before.fingerprints[defOwner+name] == now.fingerprints[defOwner+name] {
			continue
		}
		now.names = true
		now.all = now.all || len(d.Tables) == 0
		for _, t := range d.Tables {
			changed[t] = true
		}
	}
	for _, w := range now.Watched {
		if changed[w.Table] {
			now.Tables = append(now.Tables, w.Table)
		}
	}
}

// Fence returns the end of the log, and whether the catalogue was then what the
// handler has been told of.
func (l *Watcher) Fence(ctx context.Context, c *Control) (end LSN, same bool, err error) {
	told, last := l.reported.Load(), l.snapshot.Load()
	_, version := l.Definitions.all()
	var text, snapshot string
	var total *string
	err = c.Do(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, told.stamps.fence, told.stamps.fenceArgs(last)...).
			Scan(&text, &snapshot, &total)
	})
	if err != nil {
		return 0, false, err
	}
	same = told.stamps.version == version && (total == nil || *total == told.stamps.total)
	if same && l.reported.Load() == told {
		l.snapshot.Store(&snapshot)
	}
	end, err = ParseLSN(text)
	return end, same, err
}

// Same reports whether the catalogue of a standby, by c, is what the handler has been told
// of. The standby must have replayed all that snapshot, one of the primary, sees: a
// snapshot of its own does not name the transactions in progress.
func (l *Watcher) Same(ctx context.Context, c *Control, snapshot string) (bool, error) {
	told, last := l.reported.Load(), l.snapshot.Load()
	_, version := l.Definitions.all()
	if told.stamps.version != version {
		return false, nil
	}
	if last != nil && *last == snapshot {
		return true, nil
	}
	var total *string
	err := c.Do(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, told.stamps.sum, told.stamps.args...).Scan(&total)
	})
	if err != nil || total == nil || *total != told.stamps.total {
		return false, err
	}
	if l.reported.Load() == told {
		l.snapshot.Store(&snapshot)
	}
	return true, nil
}

// A Reporter has its reader tell the handler what was found, and returns when that has
// been done.
type Reporter interface {
	Report(ctx context.Context, found *Diff) error
}

// Report looks, and has the handler told what has changed.
func (l *Watcher) Report(ctx context.Context, c *Control, t Reporter) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	found, err := l.Look(ctx, c)
	if err != nil {
		return err
	}
	if found.Empty() {
		l.Accept(found)
		return nil
	}
	if found.names && l.Reconnect != nil {
		// A statement that a connection has prepared goes on to mean what its names
		// meant then, when another schema of the search path has them now.
		l.Reconnect()
	}
	return t.Report(ctx, found)
}

// Follow has the watcher look at these tables in place of its own from now on, and the handler
// told of what has changed: who tells it follows these tables then. After an error it looks at
// those of before.
func (l *Watcher) Follow(
	ctx context.Context, c *Control, tables []source.Watched, t Reporter,
) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	before := l.tables.Swap(&tables)
	found, err := l.Look(ctx, c)
	if err == nil {
		err = t.Report(ctx, found)
	}
	if err != nil {
		l.tables.Store(before)
	}
	return err
}

// lookLimit bounds one look, so that who waits for its turn gets it.
const lookLimit = 5 * time.Second
