package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// A feedBroken is the error of a feed that goes on but does not tell everything
// any more. It ends Run: what was cached may not be trusted.
type feedBroken struct{ reason string }

func (e *feedBroken) Error() string { return e.reason }

// A looker finds changes of tables that no feed delivers. ALTER TABLE writes
// nothing into the change stream, nor do ATTACH PARTITION, TRUNCATE of one
// partition, or a rewrite of a table.
type looker struct {
	tables []source.Watched
	names  feedNames
	check  func(*feedFacts) []source.Finding // what the mode needs, failures only

	// prints are the tables as the handler was told of them; nil: not looked yet.
	prints atomic.Pointer[map[string]fingerprint]
}

// A fingerprint stands for a table as it was seen.
type fingerprint struct{ schema, storage string }

// looked is what has changed since what was last accepted.
type looked struct {
	schema []string        // tables whose definition changed
	tables []string        // tables whose rows may have changed, those of schema included
	odd    map[string]bool // the tables that are odd now: tableFacts.odd
	prints map[string]fingerprint
}

func (l *looked) empty() bool { return len(l.tables) == 0 }

// digest returns a text that changes when any of the tables does.
func (l *looked) digest() *string {
	sum := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(l.prints)) {
		fmt.Fprintf(sum, "%q %q %q;", id, l.prints[id].schema, l.prints[id].storage)
	}
	text := hex.EncodeToString(sum.Sum(nil)[:16])
	return &text
}

// accept notes that the handler has been told, or is about to be. What was found
// and not accepted is found again.
func (l *looker) accept(found *looked) { l.prints.Store(&found.prints) }

// printSQL gives, for each table of $1, a text that changes when its definition
// or its policies do, and one that changes when its files do.
const printSQL = `SELECT n.nspname || '.' || c.relname,
	md5(concat_ws('|', c.oid, c.relkind, c.relpersistence, c.relreplident, c.relrowsecurity,
		c.relforcerowsecurity,
		(SELECT string_agg(concat_ws(',', attnum, attname, atttypid, atttypmod, attnotnull,
			attcollation, attgenerated, attisdropped, attmissingval), ';' ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
		(SELECT string_agg(concat_ws(',', indexrelid, indisprimary, indkey), ';'
			ORDER BY indexrelid) FROM pg_index WHERE indrelid = c.oid AND indisunique),
		(SELECT string_agg(concat_ws(',', polname, polcmd, polpermissive, polroles::text,
			polqual::text, polwithcheck::text), ';' ORDER BY polname)
			FROM pg_policy WHERE polrelid = c.oid))),
	md5(concat_ws('|', pg_relation_filenode(c.oid),
		(SELECT string_agg(concat_ws(',', relid::oid, pg_relation_filenode(relid)), ';'
			ORDER BY relid) FROM pg_partition_tree(c.oid))))
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname || '.' || c.relname = ANY ($1)`

// look returns what has changed since what was last accepted; the first finds
// nothing.
// Its error is a *feedBroken when the feed cannot be trusted any more.
func (l *looker) look(ctx context.Context, c *control) (*looked, error) {
	out := new(looked)
	err := c.do(ctx, func(conn *pgx.Conn) error {
		now, err := readPrints(ctx, conn, l.tables)
		if err != nil {
			return err
		}
		facts, err := readFeedFacts(ctx, conn, l.tables, l.names)
		if err != nil {
			return err
		}
		if failed := l.check(facts); len(failed) > 0 {
			return &feedBroken{sentence(failed)}
		}
		out = l.compare(now)
		out.odd = make(map[string]bool)
		for _, t := range facts.tables {
			out.odd[t.ID] = t.odd()
		}
		return nil
	})
	return out, err
}

// compare returns how the tables differ from what was last accepted.
func (l *looker) compare(now map[string]fingerprint) *looked {
	out := &looked{prints: now}
	before := l.prints.Load()
	if before == nil {
		return out
	}
	for _, w := range l.tables {
		was, is := (*before)[w.Table], now[w.Table]
		if was == is {
			continue
		}
		out.tables = append(out.tables, w.Table)
		if was.schema != is.schema {
			out.schema = append(out.schema, w.Table)
		}
	}
	return out
}

func readPrints(
	ctx context.Context, conn *pgx.Conn, tables []source.Watched,
) (map[string]fingerprint, error) {
	names := make([]string, len(tables))
	for i, w := range tables {
		names[i] = w.Table
	}
	rows, err := conn.Query(ctx, printSQL, names)
	if err != nil {
		return nil, err
	}
	out := make(map[string]fingerprint)
	var id string
	var p fingerprint
	_, err = pgx.ForEachRow(rows, []any{&id, &p.schema, &p.storage}, func() error {
		out[id] = p
		return nil
	})
	return out, err
}
