package links

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/source"
)

// Deps are what a Store works with.
type Deps struct {
	DB    source.Store
	Rules *Rules

	// Changed is called after every commit that has changed links, with its
	// position and their codes, old and new, before the caller of the Store gets
	// its answer: whoever then follows the link must not see it as it was. nil:
	// nobody is told.
	Changed func(ctx context.Context, pos source.Position, codes []string)

	// Tail has the clicks that are not in the database yet; nil: there are none.
	Tail Tail

	// Watch begins to tell of the links that anybody changes. nil, or what returns nil:
	// nobody tells, and searches have no index.
	Watch func() Watcher

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: nothing is logged
}

// A Store keeps links in a database. Its methods may be called by many
// goroutines. Every error is one of errors.go, a *source.Error, or says what
// the program did wrong.
type Store struct {
	Deps
	codes generator
	count counted
	index index
}

// NewStore returns the store of the tables of package schema in d.DB.
func NewStore(d Deps) *Store {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Changed == nil {
		d.Changed = func(context.Context, source.Position, []string) {}
	}
	s := &Store{Deps: d}
	s.codes.alphabet = d.Rules.o.CodeAlphabet
	return s
}

// Close ends what the Store does in the background. Searches go on without an index.
func (s *Store) Close() { s.index.close() }

// linkColumns are the columns that readLink reads, of the tables l and s.
const linkColumns = "l.id, l.code, l.url, l.status, l.enabled, l.pass_query, l.pass_path," +
	" l.starts_at, l.expires_at, l.max_clicks, l.expired_url, l.title, l.owner, l.created_at," +
	" l.updated_at, l.version, s.clicks, s.bots, s.last_at"

// fromLinks is where they come from.
const fromLinks = " FROM links l LEFT JOIN link_stats s ON s.link_id = l.id"

// readLink reads a row of linkColumns. The tags are not in it.
func (s *Store) readLink(r source.StoreRow) Link {
	l := Link{
		ID: r.Int(0), Code: r.Text(1), URL: r.Text(2), Status: int(r.Int(3)),
		Enabled: r.Int(4) != 0, PassQuery: r.Int(5) != 0, PassPath: r.Int(6) != 0,
		StartsAt: r.Int(7), ExpiresAt: r.Int(8), MaxClicks: r.Int(9), ExpiredURL: r.Text(10),
		Title: r.Text(11), Owner: r.Text(12), CreatedAt: r.Int(13), UpdatedAt: r.Int(14),
		Version: r.Int(15), Clicks: r.Int(16), Bots: r.Int(17), LastClickAt: r.Int(18),
	}
	if s.Tail != nil {
		c, _ := s.Tail.Tail(l.ID)
		l.Clicks, l.Bots = l.Clicks+c.Clicks, l.Bots+c.Bots
		l.LastClickAt = max(l.LastClickAt, c.LastAt)
	}
	return l
}

// A Tail is the clicks that are in the log and not in the database. A
// clicks.Drainer is one.
type Tail interface {
	// Tail returns those of a link, and a number that is another one once some
	// have been taken to the database, and odd while some are.
	Tail(link int64) (c clicks.Count, version uint64)
}

// whole runs read, which adds what the database has and what t has, and runs it
// again when clicks went from one to the other meanwhile: they would be counted
// twice, or not at all.
func whole(t Tail, read func() error) error {
	if t == nil {
		return read()
	}
	const most = 3 // a busy drainer commits a few times a second
	for try := 1; ; try++ {
		_, before := t.Tail(clicks.All)
		err := read()
		_, after := t.Tail(clicks.All)
		if err != nil || try == most || before == after && before%2 == 0 {
			return err
		}
	}
}

// A reader runs queries: the Store's database, or a transaction.
type reader interface {
	Query(ctx context.Context, sql string, args []any, each func(source.StoreRow) error) error
}

// Get returns the link of a code.
func (s *Store) Get(ctx context.Context, code string) (Link, error) {
	return s.get(ctx, s.DB, code, "")
}

// ByID returns the link of a number, which only programs that keep numbers ask
// for.
func (s *Store) ByID(ctx context.Context, id int64) (Link, error) {
	codes, err := s.Codes(ctx, []int64{id})
	if err != nil {
		return Link{}, err
	}
	return s.Get(ctx, codes[id])
}

// get reads a link by its code. lock is what the statement ends with.
func (s *Store) get(ctx context.Context, q reader, code, lock string) (Link, error) {
	code, err := s.Rules.Code(code)
	if err != nil {
		return Link{}, ErrNotFound // what is no code is nobody's
	}
	var found []Link
	err = whole(s.Tail, func() error {
		found = found[:0]
		return q.Query(ctx, "SELECT "+linkColumns+fromLinks+" WHERE l.code = ?"+lock, []any{code},
			func(r source.StoreRow) error {
				found = append(found, s.readLink(r))
				return nil
			})
	})
	if err != nil {
		return Link{}, fmt.Errorf("read link %s: %w", code, err)
	}
	if len(found) == 0 {
		return Link{}, ErrNotFound
	}
	return found[0], s.addTags(ctx, q, found)
}

// addTags reads the tags of links.
func (s *Store) addTags(ctx context.Context, q reader, links []Link) error {
	if len(links) == 0 {
		return nil
	}
	at := make(map[int64]*Link, len(links))
	args := make([]any, len(links))
	for i := range links {
		at[links[i].ID], args[i] = &links[i], links[i].ID
	}
	marks := strings.Repeat(", ?", len(args))[2:]
	err := q.Query(ctx, "SELECT link_id, tag FROM link_tags WHERE link_id IN ("+marks+
		") ORDER BY link_id, tag", args, func(r source.StoreRow) error {
		l := at[r.Int(0)]
		l.Tags = append(l.Tags, r.Text(1))
		return nil
	})
	if err != nil {
		return fmt.Errorf("read tags: %w", err)
	}
	return nil
}

// forUpdate ends a SELECT whose rows are to be changed. SQLite has one writer.
func (s *Store) forUpdate() string {
	if s.DB.Dialect() == source.DialectSQLite {
		return ""
	}
	if s.DB.Dialect() == source.DialectPostgres {
		return " FOR UPDATE OF l"
	}
	return " FOR UPDATE"
}

// hashOf returns what a target is looked up by.
func hashOf(url string) []byte {
	h := sha256.Sum256([]byte(url))
	return h[:16]
}

// Codes returns the codes of links by their numbers. Links that are gone are not
// among them.
func (s *Store) Codes(ctx context.Context, ids []int64) (map[int64]string, error) {
	out := make(map[int64]string, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	marks := strings.Repeat(", ?", len(args))[2:]
	err := s.DB.Query(ctx, "SELECT id, code FROM links WHERE id IN ("+marks+")", args,
		func(r source.StoreRow) error {
			out[r.Int(0)] = r.Text(1)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read codes: %w", err)
	}
	return out, nil
}

// orNull returns nil for the zero value: what a nullable column stores for it.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}
