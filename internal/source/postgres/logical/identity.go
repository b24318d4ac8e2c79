package logical

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// identityTable remembers the replica identities that doctor has changed: what each
// was before, and what doctor made of it. Tables of earlier versions lack the latter.
const identityTable = feed.Schema + ".replica_identity"

// identitySQL is the replica identity of the table $c$ as ALTER TABLE takes it, but for
// the quotes of an index's name. Without its index the identity is nothing.
const identitySQL = `(SELECT CASE c.relreplident WHEN 'd' THEN 'DEFAULT' WHEN 'f' THEN 'FULL'
	ELSE coalesce((SELECT 'USING INDEX ' || x.relname FROM pg_index i
		JOIN pg_class x ON x.oid = i.indexrelid
		WHERE i.indrelid = c.oid AND i.indisreplident AND c.relreplident = 'i'), 'NOTHING') END
	FROM pg_class c WHERE c.oid = $c$)`

// identityOf returns identitySQL for a table that SQL calls name.
func identityOf(name string) string { return strings.ReplaceAll(identitySQL, "$c$", name) }

// setIdentity returns the statements that set a table's replica identity, to FULL or to
// an index, and remember what it was. What was set by somebody else after an earlier
// setIdentity is what it was.
func setIdentity(t *feed.Table, index string) []string {
	identity, now := "FULL", "FULL"
	if index != "" {
		identity, now = "USING INDEX "+catalog.QuoteName(index), "USING INDEX "+index
	}
	relation := catalog.QuoteText(t.SQL()) + "::regclass"
	return []string{"DO " + catalog.DollarQuote(` BEGIN -- remember what it was, for doctor --remove
	CREATE SCHEMA IF NOT EXISTS `+feed.Schema+`;
	CREATE TABLE IF NOT EXISTS `+identityTable+`
		(relation regclass PRIMARY KEY, identity text NOT NULL, now text);
	ALTER TABLE `+identityTable+` ADD COLUMN IF NOT EXISTS now text;
	INSERT INTO `+identityTable+` AS t
		VALUES (`+relation+`, `+identityOf(relation)+`, `+catalog.QuoteText(now)+`)
		ON CONFLICT (relation) DO UPDATE SET now = excluded.now, identity = CASE
			WHEN coalesce(t.now, excluded.identity) = excluded.identity THEN t.identity
			ELSE excluded.identity END;
END `), "ALTER TABLE " + t.SQL() + " REPLICA IDENTITY " + identity}
}

// resetIdentity returns the statement that undoes setIdentity of a table, which SQL
// calls name. It does nothing to a table whose identity is not the one that doctor has
// set, and forgets the tables that are gone. An index that is gone cannot be an identity
// again: then the table keeps the one that it has.
func resetIdentity(name string) []string {
	return []string{"DO " + catalog.DollarQuote(`
DECLARE was text; made text;
BEGIN
	IF to_regclass('`+identityTable+`') IS NULL THEN
		RETURN;
	END IF;
	DELETE FROM `+identityTable+` t WHERE relation = to_regclass(`+catalog.QuoteText(name)+`)
		RETURNING identity, coalesce(to_jsonb(t)->>'now', `+identityOf("relation")+`)
		INTO was, made;
	IF made = `+identityOf("to_regclass("+catalog.QuoteText(name)+")")+` THEN
		IF was LIKE 'USING INDEX %' THEN
			was := 'USING INDEX ' || quote_ident(substr(was, 13));
		ELSIF was NOT IN ('DEFAULT', 'NOTHING') THEN
			was := 'FULL'; -- somebody else wrote this
		END IF;
		BEGIN
			EXECUTE `+catalog.QuoteText("ALTER TABLE "+name+" REPLICA IDENTITY ")+` || was;
		EXCEPTION WHEN undefined_object OR wrong_object_type THEN NULL;
		END;
	END IF;
	DELETE FROM `+identityTable+` WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = relation);
	IF NOT EXISTS (SELECT FROM `+identityTable+`) THEN
		DROP TABLE `+identityTable+`;
		BEGIN
			DROP SCHEMA `+feed.Schema+`;
		EXCEPTION WHEN dependent_objects_still_exist THEN NULL;
		END;
	END IF;
END `)}
}

// ReadIdentities returns the tables whose replica identity doctor has changed.
func ReadIdentities(ctx context.Context, conn *pgx.Conn) ([]source.Finding, error) {
	var there bool
	err := conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", identityTable).Scan(&there)
	if err != nil || !there {
		return nil, err
	}
	rows, err := conn.Query(ctx, `SELECT coalesce(n.nspname::text, ''),
		coalesce(c.relname::text, i.relation::text), i.identity
		FROM `+identityTable+` i LEFT JOIN pg_class c ON c.oid = i.relation
		LEFT JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	var out []source.Finding
	var schema, name, was string
	_, err = pgx.ForEachRow(rows, []any{&schema, &name, &was}, func() error {
		text := "the replica identity of " + schema + "." + name + " was " + was +
			" before hotrow changed it"
		if schema == "" {
			text = "hotrow remembers the replica identity of table " + name + ", which is gone"
		}
		out = append(out, source.Finding{
			Level: source.LevelOK, Text: text,
			Remove: resetIdentity(catalog.QuoteName(schema, name)),
		})
		return nil
	})
	return out, err
}
