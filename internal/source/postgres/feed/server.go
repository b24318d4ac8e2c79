package feed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrStandby is the error of a server that replays another one's log: it can
// neither be followed nor asked which transactions are visible.
var ErrStandby = errors.New("the server is a standby; point the URL at the primary")

// A Server is one that connections lead to.
type Server struct {
	Origin  string // its history: see OriginOf
	Address string // where it was reached, as package net has it; "": not known

	// Life is set of a server that is followed in place of the primary.
	Life Life
}

// A Life is that of a server process: one that has been started again has another. A
// standby that has been may have replayed less of the log than before.
type Life struct {
	System  string // the cluster
	Started string
	Standby bool // until it is promoted
}

// Check returns an error unless conn leads to the life of s: *Broken when it is another.
func (s *Server) Check(ctx context.Context, conn *pgconn.PgConn) error {
	life, err := LifeAt(ctx, conn)
	if err == nil && life != s.Life {
		err = &Broken{Reason: fmt.Sprintf("the connection leads to another server than is"+
			" followed, or to one that has been promoted or started again: %+v, not %+v",
			life, s.Life)}
	}
	return err
}

// LifeAt asks the server that conn leads to, which may be a replication connection.
func LifeAt(ctx context.Context, conn *pgconn.PgConn) (Life, error) {
	results, err := conn.Exec(ctx, `SELECT system_identifier::text,
		pg_postmaster_start_time()::text, pg_is_in_recovery() FROM pg_control_system()`).ReadAll()
	if err != nil {
		return Life{}, err
	}
	if len(results) == 0 || len(results[0].Rows) == 0 {
		return Life{}, errors.New("the server does not say which cluster it has")
	}
	r := results[0].Rows[0]
	return Life{System: string(r[0]), Started: string(r[1]), Standby: string(r[2]) == "t"}, nil
}

// A Standby is a server that is followed and read in place of the primary. Its functions
// tell the driver, whose reads go there.
type Standby struct {
	Conn *pgx.ConnConfig

	// Follow says which server is followed from now on, and Lost that it is no more. same
	// returns an error unless the server has the history yet with which it was found.
	Follow func(s Server, same func(context.Context) error)
	Lost   func()

	// Delivering says that a change is about to be delivered: an answer is then said to have it.
	// Replayed says how far it is known to have replayed the log, and Late that it does
	// not get as far as a fence wants in time.
	Delivering func()
	Replayed   func(LSN)
	Late       func()
}

// An OtherHistory is the error of a connection that leads to a primary with another history
// than the one that is followed.
type OtherHistory struct{ Origin, Followed string }

// Error names both.
func (e *OtherHistory) Error() string {
	return fmt.Sprintf("the connection leads to %s, the feed follows %s", e.Origin, e.Followed)
}

// AddressOf returns where a connection leads to.
func AddressOf(conn *pgconn.PgConn) string { return conn.Conn().RemoteAddr().String() }

// OriginOf names a history: one cluster and one timeline of it.
func OriginOf(system, timeline string) string { return system + "t" + timeline }

// before reports whether origin is a history that has ended where the one of s goes on:
// an earlier timeline of the same cluster.
func (s *Server) before(origin string) bool {
	if s == nil {
		return false
	}
	system, timeline, _ := strings.Cut(s.Origin, "t")
	other, earlier, _ := strings.Cut(origin, "t")
	n, err := strconv.ParseUint(timeline, 10, 32)
	m, failed := strconv.ParseUint(earlier, 10, 32)
	return system == other && err == nil && failed == nil && m < n
}

// Validate has each host that cfg names asked for its origin, and takes the first one that
// fit has nothing against. Its error is ErrStandby when the server is one.
func Validate(cfg *pgx.ConnConfig, fit func(origin string, err error) error) {
	cfg.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		return fit(OriginAt(ctx, conn))
	}
}

// Only keeps the connections of cfg, which names several hosts, to the one at the address
// that the function returns; "": to none of them. To ask the others first could take
// longer than a load may: a machine that has gone does not refuse.
func Only(cfg *pgx.ConnConfig, address func() string) {
	if !SeveralHosts(cfg) {
		return
	}
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, to string) (net.Conn, error) {
		if only := address(); only != "" && only != to {
			return nil, fmt.Errorf("the feed follows the server at %s", only)
		}
		return dial(ctx, network, to)
	}
}

// SeveralHosts reports whether there is more than one server to connect to.
func SeveralHosts(c *pgx.ConnConfig) bool {
	for _, f := range c.Fallbacks {
		if f.Host != c.Host || f.Port != c.Port {
			return true
		}
	}
	return false
}

// MayFollow returns what speaks against following a server from now on. One that was the
// primary before the one that is followed, and does not know that it is no more, has a
// history that has ended: what is read there is old.
func (c Config) MayFollow(origin string, err error) error {
	if err != nil || c.Followed == nil || !c.Followed().before(origin) {
		return err
	}
	return fmt.Errorf("the server was the primary of before: its history is %s (cluster and"+
		" timeline), and %s was followed since. Stop it, or lead the URL past it; if the database"+
		" was set back on purpose, restart hotrow", origin, c.Followed().Origin)
}

// OriginAt returns the origin of the server that conn leads to, which may be a replication
// connection. A standby has none of its own, and is an error.
func OriginAt(ctx context.Context, conn *pgconn.PgConn) (string, error) {
	results, err := conn.Exec(ctx, `SELECT system_identifier::text, CASE WHEN pg_is_in_recovery()
		THEN '' ELSE pg_walfile_name(pg_current_wal_insert_lsn()) END
		FROM pg_control_system()`).ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) == 0 || len(results[0].Rows) == 0 {
		return "", errors.New("the server does not say which cluster it has")
	}
	system, file := string(results[0].Rows[0][0]), string(results[0].Rows[0][1])
	if file == "" {
		return "", ErrStandby
	}
	// The name of a file of the log begins with the timeline.
	timeline, err := strconv.ParseUint(file[:min(8, len(file))], 16, 32)
	if err != nil {
		return "", fmt.Errorf("timeline of %q: %w", file, err)
	}
	return OriginOf(system, strconv.FormatUint(timeline, 10)), nil
}
