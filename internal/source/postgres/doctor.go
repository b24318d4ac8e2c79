package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// Doctor compares the database with what mode needs for these tables. In the
// mode auto it is about logical replication, unless something stands against
// that which no statement mends: then it is about triggers, which need no
// restart, and tells the rest as warnings.
func (s *Source) Doctor(
	ctx context.Context, mode source.FeedMode, tables []source.Watched,
) ([]source.Finding, error) {
	return doctor(ctx, s.feedSource(), mode, tables)
}

func doctor(
	ctx context.Context, src feedSource, mode source.FeedMode, tables []source.Watched,
) ([]source.Finding, error) {
	if mode == source.FeedNone {
		return nil, nil
	}
	c := newControl(src.cfg)
	defer c.close()
	var facts *feedFacts
	var traces []source.Finding
	err := c.do(ctx, func(conn *pgx.Conn) (err error) {
		if facts, err = readFeedFacts(ctx, conn, tables, src.names); err != nil {
			return err
		}
		traces, err = readTraces(ctx, conn, facts)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", pooled(err))
	}
	var out []source.Finding
	for _, w := range tables {
		if !facts.has(w.Table) {
			out = append(out, source.Finding{
				Level: source.LevelError, Text: "table " + w.Table + " does not exist",
				Why: "it cannot be served",
			})
		}
	}
	if mode == source.FeedAuto {
		mode = facts.best()
	}
	switch mode {
	case source.FeedLogical:
		out = append(out, facts.praise(facts.checkLogical())...)
		if src.opts.Slot != "" {
			finding, err := checkSlot(ctx, c, src.opts)
			if err != nil {
				return nil, fmt.Errorf("doctor: %w", err)
			}
			out = append(out, finding)
		}
		out = append(out, src.tries(ctx, out, facts, mode, tables)...)
	case source.FeedNotify:
		out = append(out, facts.regret()...)
		out = append(out, facts.checkNotify()...)
		out = append(out, src.tries(ctx, out, facts, mode, tables)...)
	default:
		return nil, fmt.Errorf("doctor: postgres has no feed %q", mode)
	}
	return append(append(out, facts.leftovers(mode)...), traces...), nil
}

// tries finds out what no question tells, once nothing else stands against a feed: a
// pooler, or the server's rules of access, may not let it through.
func (s feedSource) tries(
	ctx context.Context, found []source.Finding, facts *feedFacts, mode source.FeedMode,
	tables []source.Watched,
) []source.Finding {
	if len(failures(found)) > 0 || len(tables) == 0 {
		return nil
	}
	var err error
	if mode == source.FeedLogical {
		err = tryReplication(ctx, s.cfg)
	} else if feed, failed := openNotify(ctx, s, facts, tables); failed != nil {
		err = failed
	} else {
		err = feed.Close()
	}
	if err == nil {
		return nil
	}
	return []source.Finding{{Level: source.LevelError, Text: err.Error(),
		Why: "the feed needs a connection of its own, to the server itself"}}
}

// best returns the best mode that statements alone can bring about.
func (f *feedFacts) best() source.FeedMode {
	for _, failed := range failures(f.checkLogical()) {
		if len(failed.Apply) == 0 {
			return source.FeedNotify
		}
	}
	return source.FeedLogical
}

// regret tells as warnings what the server lacks for logical replication.
func (f *feedFacts) regret() []source.Finding {
	out := f.checkServer()
	for i := range out {
		out[i].Level = source.LevelWarning
		out[i].Why = "logical replication, which costs writers less, is not possible: " + out[i].Why
		out[i].Apply, out[i].Remove = nil, nil
	}
	return out
}

// leftovers tells what hotrow has put in for the mode that is not in use.
func (f *feedFacts) leftovers(mode source.FeedMode) []source.Finding {
	if mode == source.FeedNotify {
		if !f.publication.exists {
			return nil
		}
		return []source.Finding{{
			Level:  source.LevelInfo,
			Text:   "there is a publication " + f.names.publication,
			Why:    "the feed notify does not use it",
			Remove: []string{"DROP PUBLICATION IF EXISTS " + quoteName(f.names.publication)},
		}}
	}
	var out []source.Finding
	for _, t := range f.tables {
		for _, g := range t.Triggers {
			if g.Name == rowTrigger {
				out = append(out, source.Finding{
					Level:  source.LevelInfo,
					Text:   t.ID + " has hotrow's triggers",
					Why:    "they cost its writers and logical replication does not use them",
					Remove: t.uninstall(),
				})
			}
		}
	}
	return out
}

// praise adds what is as it should be, so that an operator sees that it was
// looked at.
func (f *feedFacts) praise(findings []source.Finding) []source.Finding {
	s := f.server
	good := func(text string) {
		findings = append([]source.Finding{{Level: source.LevelOK, Text: text}}, findings...)
	}
	if s.replication {
		good("role " + s.user + " may replicate")
	}
	if s.slots < s.maxSlots && s.senders < s.maxSnd {
		good(fmt.Sprintf("%d of %d replication slots and %d of %d WAL senders are free",
			s.maxSlots-s.slots, s.maxSlots, s.maxSnd-s.senders, s.maxSnd))
	}
	if s.walLevel == "logical" {
		good("wal_level is logical")
	}
	return findings
}

// readTraces finds what hotrow has put into the database for other tables and
// what it has changed, so that it can be undone.
func readTraces(
	ctx context.Context, conn *pgx.Conn, facts *feedFacts,
) ([]source.Finding, error) {
	rows, err := conn.Query(ctx, `SELECT n.nspname::text, c.relname::text, p.proname::text
		FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
		JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_proc p ON p.oid = g.tgfoid
		JOIN pg_namespace fn ON fn.oid = p.pronamespace
		WHERE fn.nspname = $1 AND g.tgname = $2 AND NOT c.relispartition`,
		notifySchema, rowTrigger)
	if err != nil {
		return nil, err
	}
	var out []source.Finding
	var schema, name, function string
	_, err = pgx.ForEachRow(rows, []any{&schema, &name, &function}, func() error {
		t := &tableFacts{ID: schema + "." + name, Schema: schema, Name: name}
		if !facts.has(t.ID) {
			out = append(out, source.Finding{
				Level:  source.LevelInfo,
				Text:   t.ID + " has hotrow's triggers and is not served",
				Why:    "they cost its writers and nobody listens",
				Remove: t.uninstall(),
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	identities, err := readIdentities(ctx, conn)
	return append(out, identities...), err
}

func (f *feedFacts) has(table string) bool {
	for _, t := range f.tables {
		if t.ID == table {
			return true
		}
	}
	return false
}

// identityTable remembers the replica identities that doctor has changed.
const identityTable = notifySchema + ".replica_identity"

// setIdentity returns the statements that set a table's replica identity and
// remember what it was.
func (t *tableFacts) setIdentity(identity string) []string {
	was := "DEFAULT"
	if t.Identity == "n" {
		was = "NOTHING"
	}
	return []string{
		"CREATE SCHEMA IF NOT EXISTS " + notifySchema,
		"CREATE TABLE IF NOT EXISTS " + identityTable +
			" (relation regclass PRIMARY KEY, identity text NOT NULL)",
		"INSERT INTO " + identityTable + " VALUES (" + quoteText(t.sql()) + "::regclass, '" + was +
			"') ON CONFLICT DO NOTHING",
		"ALTER TABLE " + t.sql() + " REPLICA IDENTITY " + identity,
	}
}

// resetIdentity returns the statement that undoes setIdentity. It does nothing
// to a table whose identity doctor has not changed.
func resetIdentity(table, was string) []string {
	relation := quoteText(table) + "::regclass"
	return []string{"DO " + dollarQuote(" BEGIN IF to_regclass('"+identityTable+
		"') IS NOT NULL THEN IF EXISTS (SELECT FROM "+identityTable+" WHERE relation = "+
		relation+") THEN ALTER TABLE "+table+" REPLICA IDENTITY "+was+"; DELETE FROM "+
		identityTable+" WHERE relation = "+relation+"; END IF; IF NOT EXISTS (SELECT FROM "+
		identityTable+") THEN DROP TABLE "+identityTable+"; DROP SCHEMA "+notifySchema+
		"; END IF; END IF; EXCEPTION WHEN dependent_objects_still_exist THEN NULL; END ")}
}

// readIdentities returns the tables whose replica identity doctor has changed.
func readIdentities(ctx context.Context, conn *pgx.Conn) ([]source.Finding, error) {
	var there bool
	err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", identityTable).Scan(&there)
	if err != nil || !there {
		return nil, err
	}
	rows, err := conn.Query(ctx, `SELECT n.nspname::text, c.relname::text, i.identity
		FROM `+identityTable+` i JOIN pg_class c ON c.oid = i.relation
		JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	var out []source.Finding
	var schema, name, was string
	_, err = pgx.ForEachRow(rows, []any{&schema, &name, &was}, func() error {
		if was != "DEFAULT" && was != "NOTHING" {
			return nil // somebody else wrote this
		}
		out = append(out, source.Finding{
			Level: source.LevelOK,
			Text: fmt.Sprintf("the replica identity of %s.%s was %s before hotrow changed it",
				schema, name, was),
			Remove: resetIdentity(quoteName(schema, name), was),
		})
		return nil
	})
	return out, err
}
