package binlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	binlog "github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

const (
	// heartbeat is how often the server says that it is there when nothing is
	// written, and silence ends a connection over which nothing comes. They only
	// decide when to connect again: that the feed may be behind is known by its
	// fences much sooner.
	heartbeat = 500 * time.Millisecond
	silence   = 5 * time.Second

	// connectLimit bounds the time that a stream takes to begin.
	connectLimit = 10 * time.Second

	// definitionLimit is how much longer it may take for each table, whose definition is read.
	definitionLimit = 10 * time.Millisecond
)

// errElsewhere is the error of a connection that leads to another server than the
// one that was asked where to begin.
var errElsewhere = errors.New("the connection leads to another server")

// errUnreadable is the error of an event that cannot be read, now or at another attempt.
var errUnreadable = errors.New("the binary log has an event that cannot be read")

// withoutData returns an error of the library that has nothing of an event's data, which
// are values of rows: it ends in the log.
func withoutData(err error) error {
	var bad *replication.EventError
	if errors.As(err, &bad) {
		return fmt.Errorf("%w: %s, which ends at %d", errUnreadable, bad.Header.EventType,
			bad.Header.LogPos)
	}
	if err != nil && strings.HasPrefix(err.Error(), "panic ") { // of the library, which recovers
		return errUnreadable
	}
	return err
}

// A stream is a connection over which a server sends its binary log.
type stream struct {
	syncer *replication.BinlogSyncer
	events *replication.BinlogStreamer

	waiting sync.Once
	ended   chan struct{} // closed when the stream has ended and err is set
	err     error

	// mu guards what follows.
	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

// A follower takes what a stream brings, one event after the other.
type follower interface {
	replication.EventHandler

	// decode reads the rows of an event as far as they matter.
	decode(e *replication.RowsEvent, data []byte) error
}

// openStream starts a stream at a place, or, with a set of transactions, after
// them. The caller closes it.
func (f *Feed) openStream(
	ctx context.Context, v server, at place, after binlog.GTIDSet, to follower,
) (*stream, error) {
	st := &stream{ended: make(chan struct{})}
	cfg := f.streamConfig(v, st)
	cfg.RowsEventDecodeFunc = to.decode
	cfg.SynchronousEventHandler = to
	st.syncer = replication.NewBinlogSyncer(cfg)
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, st.hangUp)
	var err error
	switch {
	case after != nil:
		st.events, err = st.syncer.StartSyncGTID(after)
	case at.offset >= 1<<32:
		err = fmt.Errorf("%s is larger than 4 GiB; run FLUSH BINARY LOGS", at.file)
	default:
		st.events, err = st.syncer.StartSync(binlog.Position{Name: at.file, Pos: uint32(at.offset)})
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		st.close()
		return nil, fmt.Errorf("open the binary log: %w", err)
	}
	return st, nil
}

// streamConfig says how the library connects. It is not left to reconnect: what
// was missed meanwhile is for the feed to find out.
func (f *Feed) streamConfig(v server, st *stream) replication.BinlogSyncerConfig {
	cfg := replication.BinlogSyncerConfig{
		ServerID:                f.src.ServerID,
		Flavor:                  binlog.MySQLFlavor,
		Host:                    f.src.Addr,
		User:                    f.src.User,
		Password:                f.src.Password,
		TLSConfig:               f.src.TLS,
		Localhost:               "hotrow",
		TimestampStringLocation: time.UTC,
		HeartbeatPeriod:         heartbeat,
		ReadTimeout:             silence,
		DisableRetrySync:        true,
		DiscardGTIDSet:          true,
		EventCacheCount:         1,
		Logger:                  slog.New(slog.DiscardHandler), // it logs each step as information
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return st.dial(ctx, f.src.Net, f.src.Addr)
		},
	}
	query := "SELECT " + IdentityMySQL
	if v.mariadb {
		cfg.Flavor, query = binlog.MariaDBFlavor, "SELECT "+IdentityMariaDB
	}
	// Two replicas with one number cut each other off. A number of 31 bits that
	// is drawn anew for each connection is hardly ever anybody else's.
	if cfg.ServerID == 0 {
		cfg.ServerID = 1<<31 | rand.Uint32()
	}
	cfg.Option = func(c *client.Conn) error {
		r, err := c.Execute(query)
		if err != nil {
			return err
		}
		identity, err := r.GetString(0, 0)
		if err == nil && identity != v.identity {
			err = errElsewhere
		}
		return err
	}
	return cfg
}

// dial opens a connection for the library, unless the stream has been closed: it
// would open another one to say farewell, to a server that may not be there.
func (st *stream) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	st.conns = append(st.conns, conn)
	return conn, nil
}

// hangUp closes the connections: whoever reads from them gets an error.
func (st *stream) hangUp() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	for _, c := range st.conns {
		_ = c.Close() // it may be closed already
	}
	st.conns = nil
}

// wait returns why the stream has ended, which it does when ctx does.
func (st *stream) wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, st.hangUp)()
	<-st.end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return st.err
}

// end returns a channel that is closed when the stream has ended.
func (st *stream) end() <-chan struct{} {
	st.waiting.Do(func() {
		go func() {
			defer close(st.ended)
			_, err := st.events.GetEvent(context.Background()) // there are none but its end
			st.err = withoutData(err)
		}()
	})
	return st.ended
}

// close ends the stream. When it has returned no event is handed on any more.
func (st *stream) close() {
	st.hangUp()
	st.syncer.Close()
}
