package sqlite

import (
	"testing"
	"time"
)

// A feed that rests looks when it is asked for a fence, also when it has to wait for a
// file that is locked as a whole, and by itself again when it does not rest.
func TestFeed_RestsUntilAsked(t *testing.T) {
	path, c := newFile(t, "DELETE", childSchema...)
	s := openTest(t, path, Options{})
	f := follow(t, s, childWatch)
	told := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.txs)
	}
	feed := f.feed.(*Feed)
	feed.Rest(true)
	f.fence() // what was under way is over
	run(t, c, "DELETE FROM child")
	<-time.After(10 * pollEvery)
	if n := told(); n != 0 {
		t.Fatalf("told of %d transactions while it rests", n)
	}
	run(t, c, "BEGIN EXCLUSIVE")
	fenced := make(chan error, 1)
	go func() {
		_, err := feed.Fence(t.Context())
		fenced <- err
	}()
	select {
	case err := <-fenced:
		t.Fatalf("a fence of a locked file is reached: %v", err)
	case <-time.After(20 * pollEvery):
	}
	run(t, c, "COMMIT")
	if err := <-fenced; err != nil || told() == 0 {
		t.Errorf("told of %d transactions, fence: %v", told(), err)
	}
	f.fence()
	run(t, c, "DELETE FROM child")
	<-time.After(10 * pollEvery)
	if n := told(); n != 0 {
		t.Errorf("told of %d transactions while it rests again", n)
	}
	feed.Rest(false)
	poll(t, func() bool { return told() > 0 })
}
