package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/hotrow/hotrow/internal/config"
	sqlfront "github.com/hotrow/hotrow/internal/front/sql"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/sqlcache"
)

// A sqlFront passes sessions of PostgreSQL on.
type sqlFront struct {
	*sqlfront.Front
	s      *server
	dialer *postgres.Dialer // nil: err says why
	err    error
	cache  *sqlcache.Cache // nil: nobody looks what memory would answer
}

func openSQL(s *server) protocolFront {
	f := &sqlFront{s: s}
	name := s.cfg().SQLSource()
	if src := s.cfg().Sources[name]; src == nil {
		f.err = errors.New("there is no source of PostgreSQL")
	} else if f.dialer, f.err = postgres.NewDialer(src.URL.Reveal()); f.err != nil {
		f.err = fmt.Errorf("source %s: %w", name, f.err)
	} else {
		f.dialer.Below = sqlfront.BelowTLS
	}
	// Of a standby that is read in place of the primary the feed tells another time.
	src, definer := s.sources[name].(source.Definer)
	if definer && s.cfg().Sources[name].Reads == "" {
		f.cache = sqlcache.New(sqlcache.Options{Set: s.set, Source: name, Names: src,
			Serve: s.cfg().SQL.Mode == "serve", Log: s.log, Unfollowed: s.wantTables})
	} else if s.cfg().SQL.Mode == "serve" {
		s.log.Warn("sql.mode: serve answers nothing from memory where a standby is read",
			"source", name)
	}
	f.Front = sqlfront.New(f.options(s.cfg()))
	return f
}

// Close ends what is left.
func (f *sqlFront) Close() {
	f.Front.Close()
	if f.cache != nil {
		f.cache.Close()
	}
}

func (f *sqlFront) serve(l net.Listener, secure *tls.Config) (protocolSite, error) {
	if f.err != nil {
		return nil, fmt.Errorf("sql.listen: %w", f.err)
	}
	return f.Serve(l, sqlfront.Listen{TLS: secure, Certificate: f.s.cert.Leaf})
}

func (f *sqlFront) configure(cfg *config.Config) { f.Configure(f.options(cfg)) }

// options returns what the front goes by.
func (f *sqlFront) options(cfg *config.Config) sqlfront.Options {
	return sqlfront.Options{Dial: f.dial, Cache: f.cache, Serve: cfg.SQL.Mode == "serve",
		MaxClients:    cfg.SQL.MaxClients,
		TrustUpstream: cfg.SQL.TrustUpstream, Unsent: f.s.unsent, Log: f.s.log}
}

// dial opens a connection to the database.
func (f *sqlFront) dial(ctx context.Context) (sqlfront.Upstream, error) {
	c, err := f.dialer.Dial(ctx)
	if err != nil {
		return sqlfront.Upstream{}, err
	}
	again := func(ctx context.Context) (net.Conn, error) {
		other, err := f.dialer.Again(ctx, c)
		if err != nil {
			return nil, err
		}
		return other.Conn, nil
	}
	return sqlfront.Upstream{Conn: c.Conn, Certificate: c.Certificate, Again: again}, nil
}

func (f *sqlFront) addTo(snap *ops.Snapshot) {
	st := f.Stats()
	snap.SQL = &ops.SQL{Open: st.Open, Logins: st.Logins, Cancels: st.Cancels, Groups: st.Groups,
		BytesIn: st.BytesIn, BytesOut: st.BytesOut, Hits: st.Hits, Misses: st.Misses,
		Passes: st.Passes}
	if f.cache != nil {
		cs := f.cache.Stats()
		snap.SQL.Copies, snap.SQL.Orphans = cs.Copies, cs.Orphans
		snap.SQL.Closed = cs.Closed.Seconds()
	}
	byReason := make(map[string]*ops.SQLReason)
	for _, one := range f.Statements() {
		r := byReason[one.Reason]
		if r == nil {
			r = &ops.SQLReason{Reason: one.Reason}
			byReason[one.Reason] = r
		}
		snap.SQL.Older += one.Memory.Older
		snap.SQL.Wrong += one.Memory.Wrong
		snap.SQL.Uncompared += one.Memory.Uncompared
		snap.SQL.Saved += one.Memory.Saved.Seconds()
		r.Count += one.Count
		r.Seconds += one.Took.Seconds()
		if one.Shape != "" {
			snap.SQL.Shapes++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		snap.SQL.Reasons = append(snap.SQL.Reasons, *byReason[reason])
	}
}

// statements returns what the operator's port tells of statements.
func (f *sqlFront) statements() (list []ops.Statement, mode string) {
	for _, one := range f.Statements() {
		m := one.Memory
		list = append(list, ops.Statement{Shape: one.Shape, Reason: one.Reason, Why: one.Why,
			Count: one.Count, Within: one.Within, Seconds: one.Took.Seconds(), Looks: m.Looks,
			Hits: m.Hits, Uncompared: m.Uncompared, Older: m.Older, Wrong: m.Wrong,
			Saved: m.Saved.Seconds(), Passed: m.Refused})
	}
	return list, f.s.cfg().SQL.Mode
}
