package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// feedFacts are everything that decides which feed can work.
type feedFacts struct {
	server      *serverFacts
	tables      []*tableFacts
	publication *publicationFacts
	names       feedNames
}

// feedNames are the names that a feed uses on the server.
type feedNames struct {
	publication string // of the logical feed
	prefix      string // of the channels of triggers that are not ours
}

func readFeedFacts(
	ctx context.Context, conn *pgx.Conn, tables []source.Watched, names feedNames,
) (*feedFacts, error) {
	f := &feedFacts{names: names}
	var err error
	if f.server, err = readServerFacts(ctx, conn); err != nil {
		return nil, err
	}
	if f.tables, err = readTableFacts(ctx, conn, tables, names.prefix); err != nil {
		return nil, err
	}
	f.publication, err = readPublication(ctx, conn, names.publication)
	return f, err
}

// checkLogical returns what stands against logical replication, and what could
// be better, in the order in which an operator would mend it.
func (f *feedFacts) checkLogical() []source.Finding {
	out := f.checkServer()
	for _, t := range f.tables {
		out = append(out, f.checkTable(t)...)
		out = append(out, checkIdentity(t)...)
	}
	return append(out, f.checkPublication()...)
}

// checkServer is about settings and roles.
func (f *feedFacts) checkServer() []source.Finding {
	s := f.server
	var out []source.Finding
	fail := func(text, why string, apply, remove []string) {
		out = append(out, source.Finding{
			Level: source.LevelError, Text: text, Why: why, Apply: apply, Remove: remove,
		})
	}
	if s.standby {
		fail("the server is a standby", "changes are followed on the primary; point the URL there",
			nil, nil)
	}
	if s.walLevel != "logical" {
		out = append(out, source.Finding{
			Level:  source.LevelError,
			Text:   "wal_level is " + s.walLevel + ", it must be logical",
			Why:    "the server does not write what logical replication needs, until a restart",
			ByHand: []string{"ALTER SYSTEM SET wal_level = logical"},
		})
	}
	if !s.replication {
		role := quoteName(s.user)
		fail("role "+s.user+" may not replicate", "it cannot open a change stream",
			[]string{"ALTER ROLE " + role + " REPLICATION"},
			[]string{"ALTER ROLE " + role + " NOREPLICATION"})
	}
	out = append(out, s.checkSlots()...)
	if s.senders >= s.maxSnd {
		out = append(out, source.Finding{
			Level:  source.LevelError,
			Text:   fmt.Sprintf("all %d WAL senders are in use (max_wal_senders)", s.maxSnd),
			Why:    "each hotrow needs one while it runs; another number takes a restart",
			ByHand: []string{fmt.Sprintf("ALTER SYSTEM SET max_wal_senders = %d", s.maxSnd+10)},
		})
	}
	return out
}

// checkTable is about what any feed needs of a table.
func (f *feedFacts) checkTable(t *tableFacts) []source.Finding {
	var out []source.Finding
	if kind := map[string]string{
		"f": "a foreign table", "v": "a view", "m": "a materialized view",
	}[t.Kind]; kind != "" {
		out = append(out, source.Finding{
			Level: source.LevelError,
			Text:  fmt.Sprintf("%s is %s", t.ID, kind),
			Why:   "nothing tells when its rows change; serve it with a ttl",
		})
	}
	if !t.Select {
		out = append(out, source.Finding{
			Level:  source.LevelError,
			Text:   fmt.Sprintf("role %s may not read %s", f.server.user, t.ID),
			Why:    "its rows cannot be served",
			Apply:  []string{"GRANT SELECT ON " + t.sql() + " TO " + quoteName(f.server.user)},
			Remove: []string{"REVOKE SELECT ON " + t.sql() + " FROM " + quoteName(f.server.user)},
		})
	}
	if t.Parent {
		out = append(out, source.Finding{
			Level: source.LevelError,
			Text:  fmt.Sprintf("other tables inherit from %s", t.ID),
			Why: "a read of it sees their rows, whose changes have the other table's name;" +
				" use declarative partitions",
		})
	}
	if t.RLS {
		out = append(out, source.Finding{
			Level: source.LevelInfo,
			Text:  fmt.Sprintf("%s has row-level security", t.ID),
			Why:   "every reader gets the documents that role " + f.server.user + " sees",
		})
	}
	return out
}

// checkIdentity is about what the log says of rows that change.
func checkIdentity(t *tableFacts) []source.Finding {
	undo := resetIdentity(t.sql())
	switch {
	case t.Kind != "r" && t.Kind != "p":
		return nil
	case t.Persistence == "u":
		return []source.Finding{{
			Level: source.LevelError,
			Text:  fmt.Sprintf("%s is unlogged", t.ID),
			Why: "its changes are not in the log that is followed; ALTER TABLE " + t.sql() +
				" SET LOGGED rewrites the table",
		}}
	case !t.identified():
		return []source.Finding{{
			Level: source.LevelError,
			Text:  fmt.Sprintf("%s has no replica identity", t.ID),
			Why:   "PostgreSQL would refuse to update and delete its rows once it is published",
			Apply: t.setIdentity(""), Remove: undo,
		}}
	case !t.even():
		return []source.Finding{{
			Level: source.LevelError,
			Text:  fmt.Sprintf("partitions of %s have another replica identity than it has", t.ID),
			Why: "the change stream describes all of them as the table; set the same," +
				" DEFAULT or FULL, on the table and on each partition",
		}}
	}
	unknown := t.unknown()
	if len(unknown) == 0 {
		return nil
	}
	f := source.Finding{
		Level: source.LevelInfo,
		Text: fmt.Sprintf("logical replication does not tell the old value of %s of %s",
			strings.Join(unknown, ", "), t.ID),
		Why: "the documents that a row leaves are found by an index in memory instead",
	}
	if t.blunt() {
		f.Level = source.LevelWarning
		f.Text += ": an UPDATE or DELETE there drops every document that is found by it"
		f.Why = "an INSERT drops only the documents that the new row is part of"
	}
	if t.Kind == "r" {
		f.Apply, f.Remove = t.setIdentity(t.identityIndex()), undo
	} else if t.blunt() {
		f.Why += "; REPLICA IDENTITY FULL, on the table and on each partition, makes the rest" +
			" precise"
	}
	return []source.Finding{f}
}

// blunt reports whether the log lacks old values that nothing replaces.
func (t *tableFacts) blunt() bool {
	return slices.ContainsFunc(t.unknown(), func(c string) bool {
		return slices.Contains(t.direct, c)
	})
}

// identityIndex returns a unique index that holds every watched column, or "".
func (t *tableFacts) identityIndex() string {
	for _, u := range t.Unique {
		missing := func(c string) bool { return !slices.Contains(u.Columns, c) }
		if !slices.ContainsFunc(t.watched, missing) {
			return u.Name
		}
	}
	return ""
}

// checkPublication is about the publication: it must tell every change of every
// watched table. A publication FOR ALL TABLES is taken but never made: it would
// make PostgreSQL refuse updates of every table without a primary key.
func (f *feedFacts) checkPublication() []source.Finding {
	p, name := f.publication, quoteName(f.names.publication)
	drop := f.dropPublication()
	missing := f.unpublished()
	if !p.exists {
		return []source.Finding{{
			Level: f.mayPublish(missing),
			Text:  fmt.Sprintf("there is no publication %s", f.names.publication),
			Why:   "it says which tables the change stream has",
			Apply: []string{"CREATE PUBLICATION " + name + " FOR TABLE " + sqlNames(missing) +
				" WITH (publish_via_partition_root = true)",
				"COMMENT ON PUBLICATION " + name + " IS " + quoteText(madeByUs)},
			Remove: drop,
		}}
	}
	var out []source.Finding
	add := func(level source.Level, text, why, apply string) {
		out = append(out, source.Finding{
			Level: level, Text: "publication " + f.names.publication + " " + text, Why: why,
			Apply: []string{"ALTER PUBLICATION " + name + " " + apply}, Remove: drop,
		})
	}
	if len(missing) > 0 {
		add(f.mayPublish(missing), "lacks "+ids(missing), "their changes would go unnoticed",
			"ADD TABLE "+sqlNames(missing))
	}
	if !p.operations {
		add(source.LevelError, "leaves out some kinds of changes", "they would go unnoticed",
			"SET (publish = 'insert, update, delete, truncate')")
	}
	partitioned := func(t *tableFacts) bool { return t.Kind == "p" }
	if !p.viaRoot && slices.ContainsFunc(f.tables, partitioned) {
		add(source.LevelError, "publishes partitions under their own names",
			"changes would not be known as those of the table",
			"SET (publish_via_partition_root = true)")
	}
	for _, t := range f.tables {
		if slices.Contains(p.partial, t.ID) {
			add(source.LevelError, "filters rows or columns of "+t.ID, "changes would go unnoticed",
				"DROP TABLE "+t.sql()+"; ALTER PUBLICATION "+name+" ADD TABLE "+t.sql())
			last := &out[len(out)-1]
			last.Apply = strings.Split(last.Apply[0], "; ")
		}
	}
	if len(out) == 0 {
		out = append(out, source.Finding{
			Level:  source.LevelOK,
			Text:   "publication " + f.names.publication + " has every table that is served",
			Remove: drop,
		})
	}
	return out
}

// madeByUs is the comment of a publication that hotrow has made.
const madeByUs = "made by hotrow"

// dropPublication returns what drops the publication, if hotrow has made it: one that
// feed.publication names may be another program's, and hotrow makes none for all tables.
// Earlier versions left no comment.
func (f *feedFacts) dropPublication() []string {
	p, name := f.publication, f.names.publication
	if !p.exists || p.all || p.comment != madeByUs && name != defaultPublication {
		return nil
	}
	return []string{"DROP PUBLICATION IF EXISTS " + quoteName(name)}
}

// unpublished returns the tables that the publication lacks.
func (f *feedFacts) unpublished() []*tableFacts {
	var out []*tableFacts
	for _, t := range f.tables {
		if !slices.Contains(f.publication.tables, t.ID) {
			out = append(out, t)
		}
	}
	return out
}

// mayPublish says how bad it is that these tables are not published: a feed
// that starts mends it by itself when the user may.
func (f *feedFacts) mayPublish(tables []*tableFacts) source.Level {
	p := f.publication
	may := p.exists && p.owner || !p.exists && f.server.create
	for _, t := range tables {
		may = may && t.Owner
	}
	if may {
		return source.LevelInfo
	}
	return source.LevelError
}

func ids(tables []*tableFacts) string {
	out := make([]string, len(tables))
	for i, t := range tables {
		out[i] = t.ID
	}
	return strings.Join(out, ", ")
}

func sqlNames(tables []*tableFacts) string {
	out := make([]string, len(tables))
	for i, t := range tables {
		out[i] = t.sql()
	}
	return strings.Join(out, ", ")
}

// failures returns the findings that a mode cannot work with.
func failures(findings []source.Finding) []source.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f source.Finding) bool {
		return f.Level != source.LevelError
	})
}

// sentence tells the first of several failures and how to mend it. Many statements are
// doctor's to print.
func sentence(failed []source.Finding) string {
	f := failed[0]
	s := f.Text
	if f.Why != "" {
		s += " (" + strings.ReplaceAll(f.Why, "\n", " ") + ")"
	}
	mend := slices.Concat(f.ByHand, f.Apply)
	switch text := strings.Join(mend, "; "); {
	case len(mend) > 4 || strings.Contains(text, "\n"):
		s += "; hotrow doctor --sql prints what mends it"
	case text != "":
		s += "; " + text
	}
	if n := len(failed) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more: hotrow doctor)", n)
	}
	return s
}
