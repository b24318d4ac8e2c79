package links

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// A Watcher tells of the links that anybody changes, in any program.
type Watcher interface {
	// Next waits for changes and returns the codes of the links. all says that any
	// link may have changed.
	Next(ctx context.Context) (codes []string, all bool, err error)

	// Sound reports whether changes are told of within moments now.
	Sound() bool

	Close()
}

// An index finds the links that a text may occur in. It is made when a search has had to
// look at many links, from the links themselves; then it is kept up to date by what this
// Store changes and by what a Watcher tells of; and it goes when nobody has searched for a
// while, or when any link may have changed. The zero index is empty, and is never made
// where nobody tells of changes.
type index struct {
	mu      sync.RWMutex // guards the others
	grams   *grams       // nil: there is none
	whole   bool         // all links are in it
	watcher Watcher      // while it is made or kept
	used    time.Time    // when it was searched last
	ended   bool         // the Store is closed

	making sync.WaitGroup
	stop   context.CancelFunc
}

const (
	// indexIdle is how long an index is kept that nobody uses.
	indexIdle = 10 * time.Minute

	// indexStep is how many links are read at once.
	indexStep = 5_000

	// indexedBlocks is the most blocks whose links are looked at for a page. A text that
	// may be in more is looked for in the order of the list: it is soon met there.
	indexedBlocks = 800
)

// find returns the blocks that have all links with this text. It reports false when the
// index cannot tell, or when they are too many to be sorted.
func (x *index) find(text string) ([]int64, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.whole || !x.watcher.Sound() {
		return nil, false
	}
	x.used = time.Now()
	blocks := x.grams.find(text, indexedBlocks)
	return blocks, len(blocks) <= indexedBlocks
}

// add adds a link that has been made or changed, if there is an index.
func (x *index) add(l *Link) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.grams != nil && !x.grams.add(l.ID, l.Code, l.URL, l.Title) {
		x.grams, x.whole = nil, false
	}
}

// want makes the index in the background unless there is one, or somebody makes it.
func (x *index) want(s *Store) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.grams != nil || x.stop != nil || x.ended || s.Watch == nil {
		return
	}
	w := s.Watch()
	if w == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	x.grams, x.watcher, x.stop, x.used = newGrams(), w, stop, time.Now()
	x.making.Go(func() {
		err := x.keep(ctx, s, w)
		w.Close()
		x.mu.Lock()
		x.grams, x.whole, x.watcher, x.stop = nil, false, nil, nil
		x.mu.Unlock()
		stop()
		if err != nil && ctx.Err() == nil {
			s.Log.Info("the search goes on without an index", "err", err)
		}
	})
}

// close ends what goes on in the background.
func (x *index) close() {
	x.mu.Lock()
	x.ended = true
	if x.stop != nil {
		x.stop()
	}
	x.mu.Unlock()
	x.making.Wait()
}

// keep makes the index and keeps it up to date until it is not worth while any more.
func (x *index) keep(ctx context.Context, s *Store, w Watcher) error {
	if err := x.fill(ctx, s); err != nil {
		return err
	}
	for {
		wait, cancel := context.WithTimeout(ctx, indexIdle)
		codes, all, err := w.Next(wait)
		cancel()
		if all || ctx.Err() != nil {
			return nil
		}
		if err != nil { // nothing has come
			codes = nil
		}
		if err := x.addCodes(ctx, s, codes); err != nil {
			return err
		}
		x.mu.Lock()
		over := x.grams == nil || time.Since(x.used) > indexIdle
		x.mu.Unlock()
		if over {
			return nil
		}
	}
}

// fill reads all links. Those that are made or changed meanwhile are told of.
func (x *index) fill(ctx context.Context, s *Store) error {
	for last := int64(-1); ; {
		n, err := x.read(ctx, s, "WHERE id > ? ORDER BY id LIMIT ?", []any{last, indexStep}, &last)
		if err != nil {
			return err
		}
		if n < indexStep {
			break
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.whole = x.grams != nil
	return nil
}

// addCodes reads links that have been changed.
func (x *index) addCodes(ctx context.Context, s *Store, codes []string) error {
	if len(codes) == 0 {
		return nil
	}
	args := make([]any, len(codes))
	for i, code := range codes {
		args[i] = code
	}
	_, err := x.read(ctx, s, "WHERE code IN ("+strings.Repeat(", ?", len(args))[2:]+")", args,
		new(int64))
	return err
}

// read adds the links that a condition finds, and returns their number and that of the
// last one.
func (x *index) read(ctx context.Context, s *Store, where string, args []any, last *int64) (
	n int, err error,
) {
	err = s.DB.Query(ctx, "SELECT id, code, url, title FROM links "+where, args,
		func(r source.StoreRow) error {
			n++
			*last = r.Int(0)
			x.add(&Link{ID: *last, Code: r.Text(1), URL: r.Text(2), Title: r.Text(3)})
			return nil
		})
	if err != nil {
		return n, fmt.Errorf("read links for the index of the search: %w", err)
	}
	return n, nil
}
