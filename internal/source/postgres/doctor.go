package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
	"github.com/hotrow/hotrow/internal/source/postgres/logical"
	"github.com/hotrow/hotrow/internal/source/postgres/notify"
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
	ctx context.Context, src feed.Config, mode source.FeedMode, tables []source.Watched,
) ([]source.Finding, error) {
	if mode == source.FeedNone {
		return nil, nil
	}
	c := feed.NewControl(src)
	defer c.Close()
	var facts *feed.Facts
	var traces []source.Finding
	err := c.Do(ctx, func(conn *pgx.Conn) (err error) {
		if facts, err = feed.ReadFacts(ctx, conn, tables, src.Names); err != nil {
			return err
		}
		if traces, err = readLeftovers(ctx, conn, facts); err != nil {
			return err
		}
		slots, err := logical.ReadSlots(ctx, conn, src.Slot)
		traces = append(traces, slots...)
		return err
	})
	if errors.Is(err, feed.ErrStandby) {
		return doctorOfStandby(ctx, src)
	}
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", pooled(err))
	}
	out := missing(facts, tables)
	auto := mode == source.FeedAuto
	if auto {
		mode = best(facts)
	}
	switch mode {
	case source.FeedLogical:
		if auto {
			out = append(out, choice(facts, tables)...)
		}
		out = append(out, passedChecks(facts, logical.Check(facts))...)
		more, err := settingFindings(ctx, src, c, auto)
		if err != nil {
			return nil, fmt.Errorf("doctor: %w", err)
		}
		out = append(out, more...)
		out = append(out, tries(ctx, src, out, facts, mode, tables)...)
	case source.FeedNotify:
		out = append(out, warnings(facts)...)
		out = append(out, notify.Check(facts)...)
		out = append(out, tries(ctx, src, out, facts, mode, tables)...)
	default:
		return nil, fmt.Errorf("doctor: postgres has no feed %q", mode)
	}
	return append(append(out, leftovers(facts, mode)...), traces...), nil
}

// missing tells of the tables that are not there.
func missing(facts *feed.Facts, tables []source.Watched) []source.Finding {
	var out []source.Finding
	for _, w := range tables {
		if facts.Table(w.Table) == nil {
			out = append(out, source.Finding{
				Level: source.LevelError, Text: "table " + w.Table + " does not exist",
				Why: "it cannot be served",
			})
		}
	}
	return out
}

// doctorOfStandby is about what a standby lacks to take over with the slots of feeds.
func doctorOfStandby(ctx context.Context, src feed.Config) ([]source.Finding, error) {
	cfg := feed.ConnConfig(src.Conn, "hotrow control")
	cfg.ValidateConnect = nil
	conn, err := feed.Connect(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", pooled(err))
	}
	defer feed.HangUp(conn.PgConn())
	return logical.CheckStandby(ctx, conn, src.Slot)
}

// settingFindings is about what keeps a feed from beginning, and what settings of the source
// ask for: reads, and feed.slot.
func settingFindings(
	ctx context.Context, src feed.Config, c *feed.Control, auto bool,
) (out []source.Finding, err error) {
	err = c.Do(ctx, func(conn *pgx.Conn) (err error) {
		out, err = logical.CheckPrepared(ctx, conn)
		return err
	})
	if err != nil {
		return nil, err
	}
	if src.Standby != nil {
		found, err := logical.CheckReads(ctx, src)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if src.Slot != "" {
		f, err := slotFinding(ctx, src, c, auto)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// slotFinding is about the named slot. The mode auto does without it: see openLogical.
func slotFinding(
	ctx context.Context, s feed.Config, c *feed.Control, auto bool,
) (source.Finding, error) {
	f, err := logical.CheckSlot(ctx, c, s)
	if auto && f.Level == source.LevelError {
		f.Level = source.LevelWarning
		f.Why += ".\nUntil then a temporary slot is used, and what is on disk is not used again" +
			" after a restart"
	}
	return f, err
}

// tries finds out what no question tells, once nothing else stands against a feed: a
// pooler, or the server's rules of access, may not let it through.
func tries(
	ctx context.Context, s feed.Config, found []source.Finding, facts *feed.Facts,
	mode source.FeedMode, tables []source.Watched,
) []source.Finding {
	if len(feed.Failures(found)) > 0 || len(tables) == 0 {
		return nil
	}
	var err error
	if mode == source.FeedLogical {
		err = logical.Try(ctx, s)
	} else if opened, failed := notify.Open(ctx, s, facts, tables); failed != nil {
		err = failed
	} else {
		err = opened.Close()
	}
	if err == nil {
		return nil
	}
	return []source.Finding{{Level: source.LevelError, Text: err.Error(),
		Why: "the feed needs a connection of its own, to the server itself"}}
}

// best returns the mode that can work: the logical one, unless something stands
// against it that no statement mends and triggers are there already.
func best(f *feed.Facts) source.FeedMode {
	if len(stands(f)) > 0 && len(f.Tables) > 0 && len(feed.Failures(notify.Check(f))) == 0 {
		return source.FeedNotify
	}
	return source.FeedLogical
}

// stands returns what stands against logical replication that no statement of
// --apply mends.
func stands(f *feed.Facts) []source.Finding {
	return slices.DeleteFunc(feed.Failures(logical.Check(f)), func(failed source.Finding) bool {
		return len(failed.Apply) > 0
	})
}

// choice says which ways there are, and what each costs, where neither works.
func choice(f *feed.Facts, tables []source.Watched) []source.Finding {
	failed := stands(f)
	if len(failed) == 0 {
		return nil
	}
	var lacks []string
	for _, s := range failed {
		lacks = append(lacks, s.Text)
	}
	if source.UnfollowedOf(feed.Refusal(failed)).Leaves(tables) {
		return []source.Finding{{
			Level: source.LevelWarning,
			Text:  "the feed would leave out some tables: nothing of them would be kept in memory",
			Why:   strings.Join(lacks, "; "),
		}}
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

// warnings returns what the server lacks for logical replication.
func warnings(f *feed.Facts) []source.Finding {
	out := logical.CheckServer(f)
	for i := range out {
		out[i].Level = source.LevelWarning
		out[i].Why = "logical replication, which costs writers less, is not possible: " + out[i].Why
		out[i].Apply, out[i].ByHand, out[i].Remove = nil, nil, nil
	}
	return out
}

// leftovers tells what hotrow has put in for the mode that is not in use.
func leftovers(f *feed.Facts, mode source.FeedMode) []source.Finding {
	if mode == source.FeedNotify {
		if !f.Publication.Exists {
			return nil
		}
		return []source.Finding{{
			Level:  source.LevelInfo,
			Text:   "there is a publication " + f.Names.Publication,
			Why:    "the feed notify does not use it",
			Remove: logical.DropPublication(f),
		}}
	}
	var out []source.Finding
	for _, t := range f.Tables {
		for _, g := range t.Triggers {
			if g.Name == notify.RowTrigger {
				out = append(out, source.Finding{
					Level:  source.LevelInfo,
					Text:   t.ID() + " has hotrow's triggers",
					Why:    "they cost its writers and logical replication does not use them",
					Remove: notify.Uninstall(t),
				})
			}
		}
	}
	return out
}

// passedChecks adds what is as it should be, so that an operator sees that it was
// looked at.
func passedChecks(f *feed.Facts, findings []source.Finding) []source.Finding {
	s := f.Server
	good := func(text string) {
		findings = append([]source.Finding{{Level: source.LevelOK, Text: text}}, findings...)
	}
	if s.Replication {
		good("role " + s.User + " may replicate")
	}
	if s.Slots < s.MaxSlots && s.Senders < s.MaxSenders {
		good(fmt.Sprintf("%d of %d replication slots and %d of %d WAL senders are free",
			s.MaxSlots-s.Slots, s.MaxSlots, s.MaxSenders-s.Senders, s.MaxSenders))
	}
	if s.WALLevel == "logical" {
		good("wal_level is logical")
	}
	return findings
}

// readLeftovers finds what hotrow has put into the database for other tables and
// what it has changed, so that it can be undone.
func readLeftovers(
	ctx context.Context, conn *pgx.Conn, facts *feed.Facts,
) ([]source.Finding, error) {
	rows, err := conn.Query(ctx, `SELECT n.nspname::text, c.relname::text, p.proname::text
		FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
		JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_proc p ON p.oid = g.tgfoid
		JOIN pg_namespace fn ON fn.oid = p.pronamespace
		WHERE fn.nspname = $1 AND g.tgname = $2 AND NOT c.relispartition`,
		feed.Schema, notify.RowTrigger)
	if err != nil {
		return nil, err
	}
	var out []source.Finding
	var schema, name, function string
	_, err = pgx.ForEachRow(rows, []any{&schema, &name, &function}, func() error {
		t := &feed.Table{Table: &catalog.Table{Table: source.Table{Schema: schema, Name: name}}}
		if facts.Table(t.ID()) == nil {
			out = append(out, source.Finding{
				Level:  source.LevelInfo,
				Text:   t.ID() + " has hotrow's triggers and is not served",
				Why:    "they cost its writers time and nothing uses them",
				Remove: notify.Uninstall(t),
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	identities, err := logical.ReadIdentities(ctx, conn)
	return append(out, identities...), err
}
