package notify

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// Follow implements source.Feed. All of hotrow's triggers notify one channel, which is listened
// to, and what they have notified so far is visible. So was what was written before they were
// made: that waits for writers. Triggers of others have a channel for each table.
func (f *Feed) Follow(ctx context.Context, tables []source.Watched) (before uint64, err error) {
	s := f.session.Load()
	if s == nil {
		return 0, source.ErrDetached
	}
	err = f.Watcher.Follow(ctx, f.Control, tables, anew{s})
	if err != nil {
		return 0, fmt.Errorf("follow other tables: %w", err)
	}
	return 0, nil
}

// An anew is a listening that reads notifications of other tables before it tells what was found.
type anew struct{ *listening }

// Report implements feed.Reporter.
func (a anew) Report(ctx context.Context, found *feed.Diff) error {
	err := a.readAnew(ctx)
	var broken *feed.Broken
	if errors.As(err, &broken) { // a channel that nobody listens to
		return fmt.Errorf("%w: %w", source.ErrReopen, err)
	}
	if err != nil {
		return err
	}
	return a.listening.Report(ctx, found)
}
