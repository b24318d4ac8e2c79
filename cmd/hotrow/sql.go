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
	"github.com/hotrow/hotrow/internal/source/postgres"
)

// A sqlFront passes sessions of PostgreSQL on.
type sqlFront struct {
	*sqlfront.Front
	s      *server
	dialer *postgres.Dialer // nil: err says why
	err    error
}

func openSQL(s *server) protocolFront {
	f := &sqlFront{s: s}
	name := s.cfg().SQLSource()
	if src := s.cfg().Sources[name]; src == nil {
		f.err = errors.New("there is no source of PostgreSQL")
	} else if f.dialer, f.err = postgres.NewDialer(src.URL.Reveal()); f.err != nil {
		f.err = fmt.Errorf("source %s: %w", name, f.err)
	}
	f.Front = sqlfront.New(f.options(s.cfg()))
	return f
}

func (f *sqlFront) serve(l net.Listener, secure *tls.Config) (protocolSite, error) {
	if f.err != nil {
		return nil, fmt.Errorf("sql.listen: %w", f.err)
	}
	return f.Serve(l, sqlfront.Listen{TLS: secure, Certificate: f.s.cert.Leaf}), nil
}

func (f *sqlFront) configure(cfg *config.Config) { f.Configure(f.options(cfg)) }

// options returns what the front goes by.
func (f *sqlFront) options(cfg *config.Config) sqlfront.Options {
	return sqlfront.Options{Dial: f.dial, MaxClients: cfg.SQL.MaxClients,
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
		BytesIn: st.BytesIn, BytesOut: st.BytesOut}
	byReason := make(map[string]*ops.SQLReason)
	for _, one := range f.Statements() {
		r := byReason[one.Reason]
		if r == nil {
			r = &ops.SQLReason{Reason: one.Reason}
			byReason[one.Reason] = r
		}
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
func (f *sqlFront) statements() (list []ops.Statement) {
	for _, one := range f.Statements() {
		list = append(list, ops.Statement{Shape: one.Shape, Reason: one.Reason, Why: one.Why,
			Count: one.Count, Within: one.Within, Seconds: one.Took.Seconds()})
	}
	return list
}
