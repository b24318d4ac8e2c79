package binlog

import (
	"context"
	"crypto/tls"
	"log/slog"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A Source is the server that a feed follows.
type Source struct {
	Driver
	Net, Addr      string // where it is, as package net has it
	User, Password string
	TLS            *tls.Config // nil: without
	Home           string      // the database that a bare name means
	ServerID       uint32      // of the feed among the server's replicas; 0: chosen
	Log            *slog.Logger

	// Check returns an error if a feed of these tables would not be told of everything.
	Check func(ctx context.Context, tables []source.Watched) error

	// Views returns the views that resources read, by their names without the database,
	// and the tables that these resources depend on. The map is not changed.
	Views func() map[string][]string
}

// A Driver is what a feed needs of the driver whose loads it keeps fresh.
type Driver interface {
	// Control takes a connection of those that do not wait for loads. The caller
	// releases it.
	Control(ctx context.Context) (Conn, error)

	// Identify returns the identity of the server that the URL leads to now, on a
	// connection that no Pin binds.
	Identify(ctx context.Context) (string, error)

	// Pin makes the connections of loads, and those of Control, lead to the server with
	// this identity.
	Pin(identity string)
}

// A Conn is one connection, for one goroutine.
type Conn interface {
	catalog.Conn
	Exec(ctx context.Context, sql string) error

	// Server says which server it leads to: see IdentityMariaDB and IdentityMySQL.
	Server() (identity string, mariadb bool, err error)

	Release() // gives the connection back
	Discard() // closes it; Release has no effect then
}

// Expressions that tell one server from another, its data directory included. MySQL has
// a UUID for it.
const (
	IdentityMariaDB = "CONCAT_WS(':', @@hostname, @@port, @@server_id, @@datadir)"
	IdentityMySQL   = "@@server_uuid"
)

// A server is the one that a connection leads to.
type server struct {
	identity string
	mariadb  bool
}

// serverOf returns the server that c leads to.
func serverOf(c Conn) (v server, err error) {
	v.identity, v.mariadb, err = c.Server()
	return v, err
}

// catalog returns the reader of the server's catalogue on a connection.
func (s *Source) catalog(c Conn, v server) *catalog.Reader {
	return &catalog.Reader{Conn: c, Home: s.Home, MariaDB: v.mariadb}
}
