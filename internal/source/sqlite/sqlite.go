// Package sqlite is a source.Source over one SQLite file.
//
// It has one connection that writes and a few that read. The writing
// connection carries the hooks that tell which rows a transaction of ours
// changes; what other programs commit is noticed by PRAGMA data_version on the
// same connection, and told row by row when the change log is installed
// (changelog.go). It does not parse the write-ahead log, and it gives a file
// that is not hotrow's own neither a table, nor a trigger, nor a journal mode,
// unless Doctor's statements are run.
package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/source"
)

// minVersion is the first SQLite without the race of checkpoints that can lose
// a commit or corrupt a write-ahead log (3.7.0 to 3.51.2).
var minVersion = [3]int{3, 51, 3}

// Options say how Open treats a file.
type Options struct {
	ReadOnly bool         // nothing is ever written: Write and Exec are refused
	Readers  int          // connections that read at once; 0: 4, or as many as processors
	Own      bool         // hotrow's own file: made if missing, WAL, synchronous=FULL
	Log      *slog.Logger // nil: nothing is logged
}

// A Source is one SQLite file.
type Source struct {
	path string
	o    Options
	log  *slog.Logger

	readers *pool
	writer  *writer
	watch   atomic.Pointer[watchList]
	known   atomic.Pointer[catalogue]

	// mu guards feeds and closed. It is taken within the writer's turn, never
	// around it.
	mu     sync.Mutex
	feeds  map[*Feed]struct{}
	closed bool
}

var _ source.Source = (*Source)(nil)

// Open opens the database at path and checks that it is one. The error says
// what is wrong with the file and how to mend it.
func Open(ctx context.Context, path string, o Options) (*Source, error) {
	abs, err := checkPath(path, o.Own)
	if err != nil {
		return nil, err
	}
	if o.Readers <= 0 {
		o.Readers = max(4, runtime.GOMAXPROCS(0))
	}
	s := &Source{path: abs, o: o, log: o.Log, feeds: make(map[*Feed]struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.watch.Store(&watchList{})
	if err := s.attach(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return s, nil
}

// checkPath refuses what can only be a mistake, before SQLite makes an empty
// database of it.
func checkPath(path string, own bool) (string, error) {
	if path == "" || strings.Contains(path, ":memory:") || strings.Contains(path, "mode=memory") {
		return "", fmt.Errorf("open %q: a database in memory belongs to one connection, and "+
			"hotrow needs several: give the path of a file", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case os.IsNotExist(err) && own:
		return abs, makeFile(abs)
	case os.IsNotExist(err):
		return "", fmt.Errorf("open %s: there is no such file; create the database first, "+
			"for example with the sqlite3 program", path)
	case err != nil:
		return "", fmt.Errorf("open %s: %w", path, err)
	case info.IsDir():
		return "", fmt.Errorf("open %s: it is a directory; give the path of a database file", path)
	}
	return abs, nil
}

// makeFile makes an empty file that its owner alone may read, for SQLite to fill. Its log and
// its shared memory get the mode of the database.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) { // another process has made it meanwhile
		return nil
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return f.Close()
}

// attach opens the connections and looks at what the file holds. It serves
// Open, and a feed that finds another file in the place of the old one.
func (s *Source) attach(ctx context.Context) error {
	readers, err := openPool(ctx, s.path, s.o)
	if err != nil {
		return s.explain(err)
	}
	// The tables are read by a connection that needs the schema: the writer may have no need of it.
	err = readers.use(ctx, func(c *conn) error {
		return c.snapshot(ctx, func() error {
			_, err := s.tables(ctx, c, readers)
			return err
		})
	})
	var w *writer
	if err == nil {
		w, err = openWriter(ctx, s, readers)
	}
	if err != nil {
		readers.close()
		return s.explain(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers, s.writer = readers, w
	return nil
}

// explain turns the errors that opening a file can have into sentences.
func (s *Source) explain(err error) error {
	switch codeOf(err) & 0xff {
	case codeNotADB:
		return fmt.Errorf("the file is not an SQLite database, or it is encrypted: %w", err)
	case codeCantOpen:
		return fmt.Errorf("the file cannot be opened; hotrow needs to read it, and to write "+
			"to its directory when it is in WAL mode: %w", err)
	}
	return err
}

// Path returns the absolute path of the file.
func (s *Source) Path() string { return s.path }

// Stats returns a snapshot of the reading connections.
func (s *Source) Stats() source.PoolStats { return s.readPool().stats() }

// readPool returns the reading connections, which a replaced file replaces.
func (s *Source) readPool() *pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readers
}

// writerNow returns the writing connection, which a replaced file replaces.
func (s *Source) writerNow() *writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writer
}

// Close closes every connection. Loads under way end with an error.
func (s *Source) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	readers, w := s.readers, s.writer
	s.mu.Unlock()
	readers.close()
	return w.close()
}

// Exec runs statements in one transaction of the writing connection. A single
// PRAGMA or VACUUM, which SQLite does not allow in one, runs by itself.
func (s *Source) Exec(ctx context.Context, statements ...string) error {
	if s.o.ReadOnly {
		return errReadOnly()
	}
	w := s.writerNow()
	if len(statements) == 1 && standsAlone(statements[0]) {
		return w.alone(ctx, statements[0])
	}
	_, err := w.transaction(ctx, func(c *conn) error {
		for _, sql := range statements {
			if err := c.execOnce(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", firstLine(sql), err)
			}
		}
		return nil
	})
	return err
}

// standsAlone reports whether SQLite refuses the statement in a transaction,
// or ignores it there.
func standsAlone(sql string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
	return strings.EqualFold(word, "PRAGMA") || strings.EqualFold(word, "VACUUM")
}

// firstLine shortens a statement for an error.
func firstLine(sql string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(sql), "\n")
	if len(line) > 80 {
		line = line[:80] + "..."
	}
	return line
}

// newOrigin returns the name of a history of positions. Positions count what
// this process saw, so no other process, and no later one, shares them.
func newOrigin() string {
	var b [8]byte
	// rand.Read of crypto/rand never returns an error.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
