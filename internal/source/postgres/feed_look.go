package postgres

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

// A feedBroken is the error of a feed that goes on but does not tell everything
// any more. It ends Run: what was cached may not be trusted.
type feedBroken struct{ reason string }

func (e *feedBroken) Error() string { return e.reason }

// A looker finds changes that no feed delivers: of definitions, of the files of a
// table (TRUNCATE of one partition, a rewrite), of the publication.
type looker struct {
	tables []source.Watched
	names  feedNames
	check  func(*feedFacts) []source.Finding // what the mode needs, failures only
	defs   *definitions

	publication string // of the logical feed; "": triggers tell of changes
	reconnect   func() // has loads use new connections; nil: nobody loads

	// turn is held by who looks, until the handler has been told of what was found.
	turn sync.Mutex

	// seen is what the handler was told of; nil: not looked yet.
	seen atomic.Pointer[looked]

	// snapshot names the transactions that were visible when the sum was last found
	// to be that of seen: while it is the same, so is the catalogue.
	snapshot atomic.Pointer[string]

	// aside is what lookAside has found last.
	aside atomic.Pointer[asideLook]
}

// An asideLook is what was found while nobody could tell the handler: since is what it
// had been told of.
type asideLook struct{ since, found *looked }

// looked is what has changed since what was last accepted.
type looked struct {
	tables []string        // that may not be what they were, neither definition nor rows
	all    bool            // a resource without tables may not be what it was
	names  bool            // a query may mean other things by its names
	odd    map[string]bool // the tables that are odd now: tableFacts.odd
	prints map[string]string
	mark   mark
	told   chan struct{} // closed when the handler has been told
}

func (l *looked) empty() bool { return len(l.tables) == 0 && !l.all }

// digest returns a text that changes when anything does.
func (l *looked) digest() *string {
	sum := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(l.prints)) {
		fmt.Fprintf(sum, "%q %q;", id, l.prints[id])
	}
	text := hex.EncodeToString(sum.Sum(nil)[:16])
	return &text
}

// tx is what the handler is told of the rows, at a position.
func (l *looked) tx(pos source.Position) *source.Tx {
	return &source.Tx{Pos: pos, Tables: l.tables, All: l.all}
}

// accept notes that the handler has been told, or is about to be. What was found
// and not accepted is found again.
func (l *looker) accept(found *looked) {
	l.seen.Store(found)
	l.snapshot.Store(nil)
	close(found.told)
}

// lookTx is the transaction of a look: one snapshot.
var lookTx = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// look returns what has changed since what was last accepted; the first finds nothing.
// Its error is a *feedBroken when the feed cannot be trusted any more.
func (l *looker) look(ctx context.Context, c *control) (*looked, error) {
	var out *looked
	err := c.do(ctx, func(conn *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, lookTx, func(tx pgx.Tx) error {
			defs, version := l.defs.all()
			now, err := l.read(ctx, tx, defs)
			if err != nil {
				return err
			}
			facts, err := readFeedFacts(ctx, tx.Conn(), l.tables, l.names)
			if err != nil {
				return err
			}
			if failed := l.check(facts); len(failed) > 0 {
				return &feedBroken{sentence(failed)}
			}
			now.mark.version = version
			l.compare(l.base(), now, defs)
			now.odd = make(map[string]bool)
			for _, t := range facts.tables {
				now.odd[t.ID] = t.odd()
			}
			out = now
			return nil
		})
	})
	return out, err
}

// read returns the catalogue as it is.
func (l *looker) read(
	ctx context.Context, tx pgx.Tx, defs map[string]definition,
) (*looked, error) {
	closure, err := readClosure(ctx, tx, watchedIDs(l.tables), defs)
	if err != nil {
		return nil, err
	}
	out := &looked{prints: make(map[string]string), told: make(chan struct{})}
	out.mark.publication, out.mark.server = l.publication, serverVersion(tx.Conn())
	seen := make(map[object]bool)
	for _, objects := range closure {
		for _, o := range objects {
			if !seen[o] {
				seen[o] = true
				out.mark.add(o)
			}
		}
	}
	for _, d := range defs {
		out.mark.views = append(out.mark.views, d.views...)
	}
	stamps, err := readStamps(ctx, tx, &out.mark)
	if err != nil {
		return nil, err
	}
	for owner, objects := range closure {
		print := new(strings.Builder)
		for _, o := range objects {
			fmt.Fprintf(print, "%s%d %s;", o.kind, o.oid, stamps[o])
			if o.kind == stampProc {
				fmt.Fprintf(print, "%s;", stamps[object{stampProc, 0}])
			}
		}
		out.prints[owner] = print.String()
	}
	var total *string
	err = tx.QueryRow(ctx, out.mark.totalSQL(), out.mark.args()...).Scan(&total)
	out.mark.fence = out.mark.fenceSQL()
	if total != nil {
		out.mark.total = *total
	}
	return out, err
}

// base returns what a look is compared with: what was last accepted, or what was found
// before anything was; nil: there was no look.
func (l *looker) base() *looked {
	seen, aside := l.seen.Load(), l.aside.Load()
	if seen == nil && aside != nil {
		return aside.found
	}
	return seen
}

// compare notes how now differs from before.
func (l *looker) compare(before, now *looked, defs map[string]definition) {
	if before == nil {
		return
	}
	changed := make(map[string]bool)
	for _, w := range l.tables {
		changed[w.Table] = before.prints[w.Table] != now.prints[w.Table]
	}
	for name, d := range defs {
		if before.prints[defOwner+name] == now.prints[defOwner+name] {
			continue
		}
		now.names = true
		now.all = now.all || len(d.tables) == 0
		for _, t := range d.tables {
			changed[t] = true
		}
	}
	for _, w := range l.tables {
		if changed[w.Table] {
			now.tables = append(now.tables, w.Table)
		}
	}
}

// fenceSQL reads the end of the log, which no visible change is behind, the
// transactions that are visible, and the sum of the stamps unless nothing has become
// visible since $7.
func (m *mark) fenceSQL() string {
	return "SELECT pg_current_wal_insert_lsn()::text, pg_current_snapshot()::text," +
		" CASE WHEN pg_current_snapshot()::text IS DISTINCT FROM $7 THEN (" + m.totalSQL() + ") END"
}

// fence returns the end of the log, and whether the catalogue was then what the
// handler has been told of.
func (l *looker) fence(ctx context.Context, c *control) (end lsn, same bool, err error) {
	seen, last := l.seen.Load(), l.snapshot.Load()
	_, version := l.defs.all()
	var text, snapshot string
	var total *string
	err = c.do(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, seen.mark.fence, append(seen.mark.args(), last)...).
			Scan(&text, &snapshot, &total)
	})
	if err != nil {
		return 0, false, err
	}
	same = seen.mark.version == version && (total == nil || *total == seen.mark.total)
	if same && l.seen.Load() == seen {
		l.snapshot.Store(&snapshot)
	}
	end, err = parseLSN(text)
	return end, same, err
}

// A teller has its reader tell the handler what was found, and returns when that has
// been done.
type teller interface {
	tell(ctx context.Context, found *looked) error
}

// lookAndTell looks, and has the handler told of what has changed.
func (l *looker) lookAndTell(ctx context.Context, c *control, t teller) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	found, err := l.look(ctx, c)
	if err != nil {
		return err
	}
	if found.empty() {
		l.accept(found)
		return nil
	}
	if found.names && l.reconnect != nil {
		// A statement that a connection has prepared goes on to mean what its names
		// meant then, when another schema of the search path has them now.
		l.reconnect()
	}
	return t.tell(ctx, found)
}

// lookLimit bounds one look, so that who waits for its turn gets it.
const lookLimit = 5 * time.Second
