package logical

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// CheckReads returns what keeps a standby from being followed and read in place of its
// primary, and how to mend it.
func CheckReads(ctx context.Context, src feed.Config) ([]source.Finding, error) {
	primary, standby := feed.NewControl(src), feed.NewStandbyControl(src)
	defer primary.Close()
	defer standby.Close()
	var rights readRights
	var of, is feed.Life
	err := primary.Do(ctx, func(conn *pgx.Conn) (err error) {
		if of, err = feed.LifeAt(ctx, conn.PgConn()); err != nil {
			return err
		}
		return rights.ask(ctx, conn)
	})
	if err != nil {
		return nil, err
	}
	facts := &feed.Facts{Names: src.Names, Reads: true}
	feedback := ""
	err = standby.Do(ctx, func(conn *pgx.Conn) (err error) {
		if is, err = feed.LifeAt(ctx, conn.PgConn()); err != nil {
			return err
		}
		if facts.Server, err = catalog.ReadServer(ctx, conn); err != nil {
			return err
		}
		return conn.QueryRow(ctx, "SHOW hot_standby_feedback").Scan(&feedback)
	})
	if err != nil {
		return nil, fmt.Errorf("reads: %w", src.Explain(err))
	}
	if err := related(is, of); err != nil {
		return []source.Finding{{Level: source.LevelError, Text: err.Error(),
			Why: "what is written to one does not come to the other"}}, nil
	}
	out := CheckServer(facts)
	for i := range out {
		out[i].Text = "reads: " + out[i].Text
		out[i].ByHand = append(out[i].ByHand, out[i].Apply...) // a standby takes no statement
		out[i].Apply, out[i].Remove = nil, nil
	}
	if feedback != "on" {
		out = append(out, source.Finding{Level: source.LevelWarning,
			Text: "reads: hot_standby_feedback is off on the standby",
			Why: "what the primary's vacuum removes ends reads there, and the feed, which begins" +
				" anew then",
			ByHand: []string{"ALTER SYSTEM SET hot_standby_feedback = on",
				"SELECT pg_reload_conf()"}})
	}
	out = append(out, rights.findings(src.Conn.User)...)
	if len(feed.Failures(out)) == 0 {
		out = append(out, source.Finding{Text: "reads: the standby can be followed and read"})
	}
	return out, nil
}

// readRights are what the role may do on the primary.
type readRights struct {
	logs bool // have it log the transactions in progress
	sees bool // what other roles' transactions wait for
}

// ask asks the primary.
func (r *readRights) ask(ctx context.Context, conn *pgx.Conn) error {
	return conn.QueryRow(ctx, `SELECT coalesce((SELECT has_function_privilege(oid, 'EXECUTE')
		FROM pg_proc WHERE proname = 'pg_log_standby_snapshot'), false),
		pg_has_role('pg_read_all_stats', 'USAGE')`).Scan(&r.logs, &r.sees)
}

// findings tells of what is missing.
func (r *readRights) findings(role string) []source.Finding {
	var out []source.Finding
	if !r.logs {
		undo := "REVOKE EXECUTE ON FUNCTION pg_log_standby_snapshot() FROM " +
			catalog.QuoteName(role)
		out = append(out, source.Finding{Level: source.LevelWarning,
			Text:  "reads: role " + role + " may not have the primary log its transactions",
			Why:   "a slot on a standby begins with that: without it the feed waits for up to 15 s",
			Apply: []string{GrantSnapshot(role)}, Remove: []string{undo}})
	}
	if !r.sees {
		member := catalog.QuoteName(role)
		out = append(out, source.Finding{Level: source.LevelWarning,
			Text: "reads: role " + role + " may not see what others' transactions wait for",
			Why: "when the standby is late the primary is read, once it shows all that the" +
				" standby has: without the\nright, reads wait for every transaction that is" +
				" open then",
			Apply:  []string{"GRANT pg_read_all_stats TO " + member},
			Remove: []string{"REVOKE pg_read_all_stats FROM " + member}})
	}
	return out
}
