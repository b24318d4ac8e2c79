package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// Doctor compares the database with what mode needs for these tables. In the
// mode auto it is about logical replication; where that is not possible and
// triggers are there, it is about them and tells the rest as warnings. It never
// proposes triggers unasked: see choice.
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
	auto := mode == source.FeedAuto
	if auto {
		mode = facts.best()
	}
	switch mode {
	case source.FeedLogical:
		if auto {
			out = append(out, facts.choice()...)
		}
		out = append(out, facts.praise(facts.checkLogical())...)
		if src.opts.Slot != "" {
			finding, err := src.slotFinding(ctx, c, auto)
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

// slotFinding is about the named slot. The mode auto does without it: see openLogical.
func (s feedSource) slotFinding(
	ctx context.Context, c *control, auto bool,
) (source.Finding, error) {
	f, err := checkSlot(ctx, c, s.opts)
	if auto && f.Level == source.LevelError {
		f.Level = source.LevelWarning
		f.Why += ".\nUntil then a temporary slot is used, and what is on disk is not used again" +
			" after a restart"
	}
	return f, err
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

// best returns the mode that can work: the logical one, unless something stands
// against it that no statement mends and triggers are there already.
func (f *feedFacts) best() source.FeedMode {
	if len(f.stands()) > 0 && len(f.tables) > 0 && len(failures(f.checkNotify())) == 0 {
		return source.FeedNotify
	}
	return source.FeedLogical
}

// stands returns what stands against logical replication that no statement of
// --apply mends.
func (f *feedFacts) stands() []source.Finding {
	return slices.DeleteFunc(failures(f.checkLogical()), func(failed source.Finding) bool {
		return len(failed.Apply) > 0
	})
}

// choice says which ways there are, and what each costs, where neither works.
func (f *feedFacts) choice() []source.Finding {
	failed := f.stands()
	if len(failed) == 0 {
		return nil
	}
	var lacks []string
	for _, s := range failed {
		lacks = append(lacks, s.Text)
	}
	return []source.Finding{{
		Level: source.LevelWarning,
		Text:  "no change feed works yet, so nothing would be kept in memory; there are two ways:",
		Why: "logical replication: costs writers nothing, and the server one decoding process;\n" +
			"    it lacks: " + strings.Join(lacks, "; ") + "\n" +
			"triggers: need no restart; cost each written row a call, and commits that write" +
			" share a lock;\n" +
			"    hotrow doctor ... --feed notify --sql prints them," +
			" --feed notify --apply makes them",
	}}
}

// regret tells as warnings what the server lacks for logical replication.
func (f *feedFacts) regret() []source.Finding {
	out := f.checkServer()
	for i := range out {
		out[i].Level = source.LevelWarning
		out[i].Why = "logical replication, which costs writers less, is not possible: " + out[i].Why
		out[i].Apply, out[i].ByHand, out[i].Remove = nil, nil, nil
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
			Remove: f.dropPublication(),
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
				Why:    "they cost its writers time and nothing uses them",
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
