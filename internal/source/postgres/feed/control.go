package feed

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A Control is a connection of a feed's own for its small questions: fences and
// visibility. It is not one of the pool's, because a pool whose connections all
// wait for slow loads must not make the feed look dead. Its commits wait for no
// standby: a fence has to pass while one is away.
type Control struct {
	cfg *pgx.ConnConfig

	// turn holds one token: who takes it may use what follows. It is a
	// channel and not a mutex so that waiting for it ends with the context.
	turn   chan struct{}
	conn   *pgx.Conn
	pinned Server // that it must be; the zero Server: any that may be followed
	closed bool
}

// errControlClosed is the error of a control that has been closed.
var errControlClosed = errors.New("the feed is closed")

// NewControl returns a control that connects when it is first used. The caller closes it.
func NewControl(src Config) *Control {
	cfg := ConnConfig(src.Conn, "hotrow control")
	cfg.RuntimeParams["synchronous_commit"] = "local"
	cfg.RuntimeParams["default_transaction_read_only"] = "off"
	cfg.RuntimeParams["lock_timeout"] = "2000" // milliseconds
	planCheaply(cfg)
	c := &Control{cfg: cfg, turn: make(chan struct{}, 1)}
	Only(cfg, func() string { return c.pinned.Address })
	Validate(cfg, func(origin string, err error) error {
		switch {
		case err != nil || c.pinned.Origin == "":
			return src.MayFollow(origin, err)
		case c.pinned.Origin != origin:
			return &OtherHistory{Origin: origin, Followed: c.pinned.Origin}
		}
		return nil
	})
	return c
}

// NewStandbyControl returns a control of the standby that is followed.
func NewStandbyControl(src Config) *Control {
	c := &Control{cfg: ConnConfig(src.Standby.Conn, "hotrow control"), turn: make(chan struct{}, 1)}
	planCheaply(c.cfg)
	Only(c.cfg, func() string { return c.pinned.Address })
	c.cfg.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if c.pinned == (Server{}) {
			return nil
		}
		return c.pinned.Check(ctx, conn)
	}
	return c
}

// planCheaply has a connection plan what it asks of the catalogue once, and well.
func planCheaply(cfg *pgx.ConnConfig) {
	// Planning what a fence asks costs several times what answering it does.
	cfg.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	// A plan for any number of tables would read the whole of pg_class each time.
	cfg.RuntimeParams["enable_seqscan"] = "off"
	// Many tables, or many changes of a few, make the planner think that a look is dear
	// enough to be compiled to machine code: that takes up to a second, a look 2 ms.
	cfg.RuntimeParams["jit"] = "off"
}

// ConnConfig returns a copy of cfg for a connection of a feed.
func ConnConfig(cfg *pgx.ConnConfig, name string) *pgx.ConnConfig {
	cfg = cfg.Copy()
	if cfg.RuntimeParams == nil {
		cfg.RuntimeParams = make(map[string]string)
	}
	cfg.RuntimeParams["application_name"] = name
	return cfg
}

// Do calls f with the connection, made anew if need be. A context that ends
// while f waits for the server costs the connection.
func (c *Control) Do(ctx context.Context, f func(*pgx.Conn) error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.closed {
		return errControlClosed
	}
	if c.conn == nil || c.conn.IsClosed() {
		conn, err := Connect(ctx, c.cfg)
		if err != nil {
			return err
		}
		c.conn = conn
	}
	return f(c.conn)
}

// Pin makes the connection one to this server. A connection made before is made again: it
// may lead elsewhere.
func (c *Control) Pin(ctx context.Context, server Server) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.pinned != server {
		c.pinned = server
		c.discard()
	}
	return nil
}

// discard closes the connection.
func (c *Control) discard() {
	if c.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// The error of a farewell changes nothing: the connection is gone.
	_ = c.conn.Close(ctx)
	c.conn = nil
}

// Close closes the connection for good.
func (c *Control) Close() {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.closed = true
	c.discard()
}

// HangUp closes a connection that failed and waits until its resources are
// freed, which pgconn does in the background after an interrupted command.
func HangUp(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the error that counts is the caller's
	select {
	case <-conn.CleanupDone():
	case <-ctx.Done():
	}
}

// RandomName returns a name that no other node has.
func RandomName() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	return "hotrow_" + hex.EncodeToString(b[:]), nil
}
