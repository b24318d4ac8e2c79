package logical

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// Check returns what stands against logical replication, and what could
// be better, in the order in which an operator would mend it.
func Check(f *feed.Facts) []source.Finding {
	out := CheckServer(f)
	for _, t := range f.Tables {
		out = append(out, f.CheckTable(t)...)
		out = append(out, CheckIdentity(t)...)
	}
	return append(out, checkPublication(f)...)
}

// CheckServer is about settings and roles.
func CheckServer(f *feed.Facts) []source.Finding {
	s := f.Server
	var out []source.Finding
	fail := func(text, why string, apply, remove []string) {
		out = append(out, source.Finding{
			Level: source.LevelError, Text: text, Why: why, Apply: apply, Remove: remove,
		})
	}
	switch {
	case f.Reads && s.Version < StandbyVersion:
		fail(fmt.Sprintf("reads leads to PostgreSQL %d", s.Version/10000),
			"standbys send changes from version 16 on; leave reads out", nil, nil)
	case s.Standby && !f.Reads:
		fail("the server is a standby", "changes are followed on the primary; point the URL there",
			nil, nil)
	}
	if s.WALLevel != "logical" {
		out = append(out, source.Finding{
			Level:  source.LevelError,
			Text:   "wal_level is " + s.WALLevel + ", it must be logical",
			Why:    "the server does not write what logical replication needs, until a restart",
			ByHand: []string{"ALTER SYSTEM SET wal_level = logical"},
		})
	}
	if !s.Replication {
		role := catalog.QuoteName(s.User)
		fail("role "+s.User+" may not replicate", "it cannot open a change stream",
			[]string{"ALTER ROLE " + role + " REPLICATION"},
			[]string{"ALTER ROLE " + role + " NOREPLICATION"})
	}
	out = append(out, checkSlots(s)...)
	if s.Senders >= s.MaxSenders {
		out = append(out, source.Finding{
			Level:  source.LevelError,
			Text:   fmt.Sprintf("all %d WAL senders are in use (max_wal_senders)", s.MaxSenders),
			Why:    "each hotrow needs one while it runs; another number takes a restart",
			ByHand: []string{fmt.Sprintf("ALTER SYSTEM SET max_wal_senders = %d", s.MaxSenders+10)},
		})
	}
	return out
}

// CheckIdentity is about what the log says of rows that change.
func CheckIdentity(t *feed.Table) []source.Finding {
	undo := resetIdentity(t.SQL())
	switch {
	case t.Kind != "r" && t.Kind != "p":
		return nil
	case t.Persistence == "u":
		return []source.Finding{{
			Level: source.LevelError, Tables: []string{t.ID()},
			Text: fmt.Sprintf("%s is unlogged", t.ID()),
			Why: "its changes are not in the log that is followed; ALTER TABLE " + t.SQL() +
				" SET LOGGED rewrites the table",
		}}
	case slices.ContainsFunc(t.Aside, unlogged):
		return unloggedParts(t)
	case !t.Identified():
		return []source.Finding{{
			Level: source.LevelError, Tables: []string{t.ID()},
			Text:  fmt.Sprintf("%s has no replica identity", t.ID()),
			Why:   "PostgreSQL would refuse to update and delete its rows once it is published",
			Apply: setIdentity(t, ""), Remove: undo,
		}}
	case !t.Even():
		return []source.Finding{{
			Level: source.LevelError, Tables: []string{t.ID()},
			Text: "partitions of " + t.ID() + " have another replica identity than it has",
			Why: "the change stream describes all of them as the table; set the same," +
				" DEFAULT or FULL, on the table and on each partition",
		}}
	}
	unknown := t.Unknown()
	if t.Old && t.Identity != "f" && t.Kind == "r" {
		return []source.Finding{oldRows(t, undo)}
	}
	if len(unknown) == 0 {
		return nil
	}
	f := source.Finding{
		Level: source.LevelInfo,
		Text: fmt.Sprintf("logical replication does not tell the old value of %s of %s",
			strings.Join(unknown, ", "), t.ID()),
		Why: "the documents that a row leaves are found by an index in memory instead",
	}
	if Blunt(t) {
		f.Level = source.LevelWarning
		f.Text += ": an UPDATE or DELETE there drops every document that is found by it"
		f.Why = "an INSERT drops only the documents that the new row is part of"
	}
	if t.Kind == "r" {
		f.Apply, f.Remove = setIdentity(t, identityIndex(t)), undo
	} else if Blunt(t) {
		f.Why += "; REPLICA IDENTITY FULL, on the table and on each partition, makes the rest" +
			" precise"
	}
	return []source.Finding{f}
}

// unlogged reports whether changes of a partition are in no log.
func unlogged(l catalog.Leaf) bool { return l.Kind == catalog.KindTable }

// unloggedParts are the findings that partitions are in no log.
func unloggedParts(t *feed.Table) []source.Finding {
	var out []source.Finding
	for i := range t.Aside {
		if l := &t.Aside[i]; unlogged(*l) {
			what, _ := catalog.Unlogged(l.Kind, l.Persistence)
			out = append(out, source.Finding{
				Level: source.LevelError, Tables: []string{t.ID()},
				Text: fmt.Sprintf("%s is partitioned, and its partition %s.%s is %s", t.ID(),
					l.Schema, l.Name, what),
				Why: "changes there are not in the log that is followed; ALTER TABLE " + l.SQL() +
					" SET LOGGED rewrites the partition",
			})
		}
	}
	return out
}

// oldRows is the finding that lists are less precise than they could be. FULL makes the
// rest precise, too.
func oldRows(t *feed.Table, undo []string) source.Finding {
	return source.Finding{
		Level: source.LevelWarning,
		Text: fmt.Sprintf("lists of %s with an offset or a count are read again after every"+
			" write to it", t.ID()),
		Why: "the log does not tell what a row was; with REPLICA IDENTITY FULL it does, and\n" +
			"they stay in memory when rows are written that they do not find. It costs: each\n" +
			"UPDATE and DELETE of the table writes the whole old row to the log",
		Apply: setIdentity(t, ""), Remove: undo,
	}
}

// Blunt reports whether the log lacks old values that nothing replaces.
func Blunt(t *feed.Table) bool {
	return slices.ContainsFunc(t.Unknown(), func(c string) bool {
		return slices.Contains(t.Direct, c)
	})
}

// identityIndex returns the smallest unique index that can be a replica identity and
// holds every watched column, or "".
func identityIndex(t *feed.Table) string {
	var best *catalog.Index
	for i := range t.Indexes {
		x := &t.Indexes[i]
		missing := func(c string) bool { return !slices.Contains(x.Columns, c) }
		if !x.Immediate || !x.NotNull || slices.ContainsFunc(t.Watched, missing) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(len(x.Columns), len(best.Columns)),
			cmp.Compare(x.Name, best.Name)) < 0 {
			best = x
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}

// checkPublication is about the publication: it must tell every change of every
// watched table. A publication FOR ALL TABLES is taken but never made: it would
// make PostgreSQL refuse updates of every table without a primary key.
func checkPublication(f *feed.Facts) []source.Finding {
	p, name := f.Publication, catalog.QuoteName(f.Names.Publication)
	drop := DropPublication(f)
	mine, others := unpublished(f)
	if !p.Exists && len(mine) == 0 {
		return []source.Finding{noPublication(f, source.LevelError, others)}
	}
	var out []source.Finding
	add := func(level source.Level, text, why, apply string, tables ...string) {
		out = append(out, source.Finding{
			Level: level, Text: "publication " + f.Names.Publication + " " + text, Why: why,
			Tables: tables, Remove: drop,
			Apply: []string{"ALTER PUBLICATION " + name + " " + apply},
		})
	}
	lacks := func(level source.Level, tables []*feed.Table) {
		add(level, "lacks "+strings.Join(feed.IDs(tables), ", "),
			"their changes would go unnoticed", "ADD TABLE "+feed.SQLNames(tables))
	}
	switch {
	case !p.Exists:
		out = append(out, noPublication(f, source.LevelInfo, mine))
	case len(mine) > 0:
		lacks(source.LevelInfo, mine)
	}
	if len(others) > 0 {
		lacks(source.LevelError, others)
		out[len(out)-1].Tables = feed.IDs(others)
	}
	if !p.Exists {
		return out
	}
	if !p.Operations {
		add(source.LevelError, "leaves out some kinds of changes", "they would go unnoticed",
			"SET (publish = 'insert, update, delete, truncate')")
	}
	if parts := partitioned(f); !p.ViaRoot && len(parts) > 0 {
		add(source.LevelError, "publishes partitions under their own names",
			"changes would not be known as those of the table",
			"SET (publish_via_partition_root = true)", parts...)
	}
	for _, t := range f.Tables {
		if slices.Contains(p.Partial, t.ID()) {
			add(source.LevelError, "filters rows or columns of "+t.ID(),
				"changes would go unnoticed",
				"DROP TABLE "+t.SQL()+"; ALTER PUBLICATION "+name+" ADD TABLE "+t.SQL())
			last := &out[len(out)-1]
			last.Tables, last.Apply = []string{t.ID()}, strings.Split(last.Apply[0], "; ")
		}
	}
	if len(out) == 0 {
		out = append(out, source.Finding{
			Level:  source.LevelOK,
			Text:   "publication " + f.Names.Publication + " has every table that is served",
			Remove: drop,
		})
	}
	return out
}

// partitioned returns the names of the tables that have partitions.
func partitioned(f *feed.Facts) (names []string) {
	for _, t := range f.Tables {
		if t.Kind == catalog.KindPartitioned {
			names = append(names, t.ID())
		}
	}
	return names
}

// madeByUs is the comment of a publication that hotrow has made.
const madeByUs = "made by hotrow"

// DropPublication returns what drops the publication, if hotrow has made it: one that
// feed.publication names may be another program's, and hotrow makes none for all tables.
// Earlier versions left no comment.
func DropPublication(f *feed.Facts) []string {
	p, name := f.Publication, f.Names.Publication
	if !p.Exists || p.All || p.Comment != madeByUs && name != feed.DefaultPublication {
		return nil
	}
	return []string{"DROP PUBLICATION IF EXISTS " + catalog.QuoteName(name)}
}

// noPublication is the finding that there is no publication, for tables.
func noPublication(f *feed.Facts, level source.Level, tables []*feed.Table) source.Finding {
	name := catalog.QuoteName(f.Names.Publication)
	return source.Finding{
		Level: level,
		Text:  fmt.Sprintf("there is no publication %s", f.Names.Publication),
		Why:   "it says which tables the change stream has",
		Apply: []string{"CREATE PUBLICATION " + name + " FOR TABLE " + feed.SQLNames(tables) +
			" WITH (publish_via_partition_root = true)",
			"COMMENT ON PUBLICATION " + name + " IS " + catalog.QuoteText(madeByUs)},
		Remove: DropPublication(f),
	}
}

// publishable reports whether a publication can have the table. That one that is watched
// cannot be is a finding of its own.
func publishable(t *feed.Table) bool {
	what, _ := catalog.Unlogged(t.Kind, t.Persistence)
	return what == "" && t.Kind != catalog.KindView
}

// unpublished returns the tables that the publication lacks: those that a feed which
// starts adds by itself, or makes the publication for, and those that this user may not
// publish.
func unpublished(f *feed.Facts) (mine, others []*feed.Table) {
	p := f.Publication
	may := p.Exists && p.Owner || !p.Exists && f.Server.Create
	for _, t := range f.Tables {
		switch {
		case slices.Contains(p.Tables, t.ID()), !publishable(t):
		case may && t.Owner:
			mine = append(mine, t)
		default:
			others = append(others, t)
		}
	}
	return mine, others
}
