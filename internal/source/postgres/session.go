package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// A transaction that writes begins as PostgREST's does: with the role of whoever writes and the
// claims of the token, both as long as the transaction is. What rows are and were is read as the
// user that hotrow connects as: the role need not see all columns.

// An actor is who changes rows in a transaction.
type actor struct {
	role, own string
	acts      bool // the role is the role of now, not own
}

const (
	roleSetting   = "role"
	claimsSetting = "request.jwt.claims"
)

// enter begins the session of a transaction. It returns nil where rows are changed as this user.
func enter(ctx context.Context, conn *pgx.Conn, s *source.Session) (*actor, error) {
	switch {
	case s == nil:
		return nil, nil
	case s.Role == "":
		_, err := conn.Exec(ctx, "SELECT pg_catalog.set_config($1, $2, true)", claimsSetting,
			s.Claims)
		return nil, err
	}
	a := &actor{role: s.Role, acts: true}
	err := conn.QueryRow(ctx, "SELECT pg_catalog.current_setting($1),"+
		" pg_catalog.set_config($2, $3, true), pg_catalog.set_config($1, $4, true)",
		roleSetting, claimsSetting, s.Claims, s.Role).Scan(&a.own, nil, nil)
	return a, err
}

// takeFor takes the role that a statement is for: one that only reads is for our own.
func (a *actor) takeFor(ctx context.Context, conn *pgx.Conn, sql string) error {
	word := strings.TrimLeft(sql, " \t\r\n(")
	reads := len(word) >= 4 && (strings.EqualFold(word[:4], "SELE") ||
		strings.EqualFold(word[:4], "WITH"))
	return a.take(ctx, conn, !reads)
}

// take takes the role, or our own.
func (a *actor) take(ctx context.Context, conn *pgx.Conn, acts bool) error {
	if a == nil || a.acts == acts {
		return nil
	}
	role := a.own
	if acts {
		role = a.role
	}
	_, err := conn.Exec(ctx, "SELECT pg_catalog.set_config($1, $2, true)", roleSetting, role)
	if err == nil {
		a.acts = acts
	}
	return err
}
