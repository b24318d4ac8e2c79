package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// The names of what hotrow puts into a database for notifications.
const (
	ownChannel     = "hotrow"
	RowTrigger     = "hotrow_row"
	truncTrigger   = "hotrow_truncate"
	maxPayload     = 7900 // PostgreSQL takes 7999 bytes
	moneyOID       = 790  // of the type, which pgtype has no name for
	triggerAlways  = "A"  // fires for replicated changes too
	triggerRow     = 1    // bits of pg_trigger.tgtype
	triggerBefore  = 2
	triggerInsert  = 4
	triggerDelete  = 8
	triggerUpdate  = 16
	triggerInstead = 64
)

// functionName returns the name of a table's trigger function within
// feed.Schema. Each table has a function of its own, which names its columns:
// turning whole rows into JSON to pick two columns costs writers more.
func functionName(t *feed.Table) string {
	if len(t.ID()) <= 63 {
		return t.ID()
	}
	sum := sha256.Sum256([]byte(t.ID()))
	return "table_" + hex.EncodeToString(sum[:16])
}

// functionBody returns the body of the table's trigger function. It notifies one
// JSON object for each row: the table, the operation, the watched columns as they
// were and are, as texts, and the transaction. What does not fit is told as "the
// table".
func functionBody(t *feed.Table) string {
	whole := fmt.Sprintf(`{"table": %s, "op": "T"}`, jsonText(t.ID()))
	b := new(strings.Builder)
	if watchesMoney(t) { // those who have the function as it was before are to make it anew
		b.WriteString("\n-- amounts are told as lc_monetary = 'C' has them")
	}
	fmt.Fprintf(b, `
DECLARE
	o jsonb; n jsonb; m text;
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		PERFORM pg_notify(%[1]s, %[2]s);
		RETURN NULL;
	END IF;
	IF TG_OP <> 'INSERT' THEN
		o := jsonb_build_object(%[3]s);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		n := jsonb_build_object(%[4]s);
	END IF;
	IF TG_OP = 'UPDATE' THEN
		-- The images of the rows are compared, so that null is equal to null.
		IF OLD *= NEW THEN
			RETURN NULL;
		END IF;
	END IF;
	m := jsonb_build_object('table', %[5]s, 'op', left(TG_OP, 1), 'old', o, 'new', n,
		'tx', pg_current_xact_id()::text)::text;
	IF octet_length(m) > %[6]d THEN
		m := %[2]s;
	END IF;
	PERFORM pg_notify(%[1]s, m);
	RETURN NULL;
END
`, catalog.QuoteText(ownChannel), catalog.QuoteText(whole), functionColumns(t, "OLD"),
		functionColumns(t, "NEW"),
		catalog.QuoteText(t.ID()), maxPayload)
	return b.String()
}

// watchesMoney reports whether a column that is told holds amounts of money.
func watchesMoney(t *feed.Table) bool {
	for i := range t.Cols {
		if t.Cols[i].Type.OID == moneyOID && slices.Contains(t.Watched, t.Cols[i].Name) {
			return true
		}
	}
	return false
}

// functionColumns returns the arguments of jsonb_build_object: every watched
// column with its value as the type's output function writes it. A cast to text
// would lose the padding of char(n).
func functionColumns(t *feed.Table, record string) string {
	parts := make([]string, len(t.Watched))
	for i, c := range t.Watched {
		value := record + "." + catalog.QuoteName(c)
		parts[i] = fmt.Sprintf("%s, CASE WHEN %s IS NULL THEN NULL ELSE format('%%s', %s) END",
			catalog.QuoteText(c), value, value)
	}
	return strings.Join(parts, ", ")
}

// install returns the statements that make the table's triggers.
func install(t *feed.Table) []string {
	function := catalog.QuoteName(feed.Schema, functionName(t))
	create := func(name, when string) string {
		return fmt.Sprintf("CREATE TRIGGER %s AFTER %s EXECUTE FUNCTION %s()", name,
			fmt.Sprintf(when, t.SQL()), function)
	}
	return append(append([]string{
		"CREATE SCHEMA IF NOT EXISTS " + feed.Schema,
		"CREATE OR REPLACE FUNCTION " + function + "() RETURNS trigger LANGUAGE plpgsql" +
			" SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO'" +
			" SET intervalstyle = 'postgres' SET bytea_output = 'hex'" +
			" SET extra_float_digits = 1 SET lc_monetary = 'C'" +
			" AS " + catalog.DollarQuote(functionBody(t)),
	}, dropTriggers(t)...),
		create(RowTrigger, "INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW"),
		create(truncTrigger, "TRUNCATE ON %s FOR EACH STATEMENT"),
		"ALTER TABLE "+t.SQL()+" ENABLE ALWAYS TRIGGER "+RowTrigger,
		"ALTER TABLE "+t.SQL()+" ENABLE ALWAYS TRIGGER "+truncTrigger)
}

func dropTriggers(t *feed.Table) []string {
	return []string{
		"DROP TRIGGER IF EXISTS " + RowTrigger + " ON " + t.SQL(),
		"DROP TRIGGER IF EXISTS " + truncTrigger + " ON " + t.SQL(),
	}
}

// Uninstall returns the statements that take them away, and the schema with the
// last of them.
func Uninstall(t *feed.Table) []string {
	return append(dropTriggers(t),
		"DROP FUNCTION IF EXISTS "+catalog.QuoteName(feed.Schema, functionName(t))+"()",
		"DO $$ BEGIN DROP SCHEMA IF EXISTS "+feed.Schema+
			"; EXCEPTION WHEN dependent_objects_still_exist THEN NULL; END $$")
}

// installed reports whether the table has hotrow's own triggers, as install
// would make them now.
func installed(t *feed.Table) bool {
	found := 0
	for _, g := range t.Triggers {
		if (g.Name == RowTrigger || g.Name == truncTrigger) && g.Enabled == triggerAlways &&
			g.Function == feed.Schema+"."+functionName(t) && g.Source == functionBody(t) {
			found++
		}
	}
	return found == 2
}

// notifying reports whether the table has triggers of somebody else that notify
// the channel named after the table of every insert, update and delete. What a subscription
// applies fires those alone that are enabled ALWAYS.
func notifying(t *feed.Table) bool {
	events := 0
	for _, g := range t.Triggers {
		if g.Notifies && !g.Partial && (g.Enabled == "O" && !t.Subscribed ||
			g.Enabled == triggerAlways) &&
			g.Type&triggerRow != 0 && g.Type&(triggerBefore|triggerInstead) == 0 {
			events |= g.Type
		}
	}
	const all = triggerInsert | triggerDelete | triggerUpdate
	return events&all == all
}

// Check returns what stands against notifications, and what could be
// better.
func Check(f *feed.Facts) []source.Finding {
	var out []source.Finding
	if f.Server.Standby {
		out = append(out, source.Finding{
			Level: source.LevelError, Text: "the server is a standby",
			Why: "notifications are sent by the primary; point the URL there",
		})
	}
	lacks := source.Finding{Level: source.LevelError, Why: "they would go unnoticed"}
	var without []*feed.Table
	for _, t := range f.Tables {
		out = append(out, f.CheckTable(t)...)
		switch {
		case t.Kind != "r" && t.Kind != "p":
		case installed(t), notifying(t):
			out = append(out, checkTriggers(f, t))
		default:
			without = append(without, t)
			lacks.Apply = append(lacks.Apply, install(t)...)
			lacks.Remove = append(lacks.Remove, Uninstall(t)...)
		}
	}
	if len(without) == 0 {
		return out
	}
	lacks.Tables = feed.IDs(without)
	lacks.Text = lacks.Tables[0] + " has no triggers that tell of its changes"
	if len(without) > 1 {
		lacks.Text = fmt.Sprintf("%d tables have no triggers that tell of their changes: %s",
			len(without), strings.Join(lacks.Tables, ", "))
	}
	for _, t := range without {
		if t.Subscribed {
			lacks.Why = "a subscription writes rows of " + t.ID() + ", and triggers tell of those" +
				" only if they are enabled ALWAYS, as hotrow's are"
		}
		if outdated(t) {
			lacks.Why = t.ID() + " has triggers of hotrow that are not those that it needs now"
		}
	}
	return append(out, lacks)
}

// outdated reports whether the table has hotrow's triggers as they were made for
// something else.
func outdated(t *feed.Table) bool {
	return slices.ContainsFunc(t.Triggers, func(g catalog.Trigger) bool {
		return g.Name == RowTrigger || g.Name == truncTrigger
	})
}

// checkTriggers is about triggers that are there.
func checkTriggers(f *feed.Facts, t *feed.Table) source.Finding {
	if installed(t) {
		return source.Finding{
			Level: source.LevelOK, Text: t.ID() + " has hotrow's triggers", Remove: Uninstall(t),
		}
	}
	return source.Finding{
		Level: source.LevelWarning,
		Text: fmt.Sprintf("%s has triggers that notify %s", t.ID(),
			f.Names.Prefix+"_"+t.Name),
		Why: "they do not tell of TRUNCATE, which is found with the next fence, nor of the old" +
			" key when a key changes; hotrow's own do",
		Apply: install(t), Remove: Uninstall(t),
	}
}
