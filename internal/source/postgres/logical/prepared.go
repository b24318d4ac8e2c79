package logical

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// sqlPrepared finds prepared transactions, of whatever database: a slot waits for those, too.
// One that was prepared just now is being committed by whoever has prepared it.
const sqlPrepared = `SELECT gid, database::text, owner::text,
	to_char(prepared, 'YYYY-MM-DD HH24:MI:SS')
	FROM pg_prepared_xacts WHERE prepared < clock_timestamp() - make_interval(secs => $1)
	ORDER BY prepared, gid`

// CheckPrepared tells of transactions that were prepared for a two-phase commit longer ago
// than a feed waits for: no session has them, no time ends them, and no feed begins before.
func CheckPrepared(ctx context.Context, conn *pgx.Conn) ([]source.Finding, error) {
	rows, err := conn.Query(ctx, sqlPrepared, tryLimit.Seconds())
	if err != nil {
		return nil, err
	}
	var out []source.Finding
	var gid, database, owner, since string
	_, err = pgx.ForEachRow(rows, []any{&gid, &database, &owner, &since}, func() error {
		out = append(out, source.Finding{
			Level: source.LevelWarning,
			Text: fmt.Sprintf("transaction %s of role %s, in database %s, is prepared since %s"+
				" and neither committed nor rolled back", catalog.QuoteText(gid), owner, database,
				since),
			Why: "a feed that begins waits for its end, and nothing is cached until then;" +
				" it holds its locks, too.\nIf" +
				" its transaction manager is gone for good, end it there with" +
				" COMMIT PREPARED " + catalog.QuoteText(gid) + "\nor ROLLBACK PREPARED " +
				catalog.QuoteText(gid) + ": which of the two, its other parties know",
		})
		return nil
	})
	return out, err
}
