package sqlite

import (
	"fmt"
	"slices"
	"testing"
)

func TestSpan_AfterAndWithout(t *testing.T) {
	var own []span
	for _, s := range []span{{}, {5, 6}, {7, 7}, {10, 12}, {13, 20}, {18, 18}, {30, 31}} {
		own = s.after(own)
	}
	if want := []span{{5, 7}, {10, 18}, {30, 31}}; !slices.Equal(own, want) {
		t.Fatalf("own = %v, want %v", own, want)
	}
	for _, tt := range []struct {
		of   span
		want []span
	}{
		{span{1, 40}, []span{{1, 4}, {8, 9}, {19, 29}, {32, 40}}},
		{span{6, 17}, []span{{8, 9}}},
		{span{11, 18}, nil},
		{span{19, 29}, []span{{19, 29}}},
		{span{32, 33}, []span{{32, 33}}},
		{span{31, 31}, nil},
		{span{9, 8}, nil},
	} {
		if got := tt.of.without(own); !slices.Equal(got, tt.want) {
			t.Errorf("%v without own = %v, want %v", tt.of, got, tt.want)
		}
	}
	if got := (span{1, 2}).without(nil); !slices.Equal(got, []span{{1, 2}}) {
		t.Errorf("without none: %v", got)
	}
}

// TestFeed_OwnRowsOfTheLogAreNotRead: a node without a disk passes over nothing until another
// program writes. What its own commits have left takes one span then, and is not read.
func TestFeed_OwnRowsOfTheLogAreNotRead(t *testing.T) {
	path, c := newFile(t, "WAL", childSchema...)
	s := openTest(t, path, Options{})
	installLog(t, s, childWatch)
	f := follow(t, s, childWatch)
	f.fence()
	feed := f.feed.(*Feed)
	const commits = 500
	for i := range commits {
		err := s.Exec(t.Context(), fmt.Sprintf("UPDATE child SET parent = %d WHERE id = 1", i))
		if err != nil {
			t.Fatal(err)
		}
	}
	f.fence()
	feed.mu.Lock()
	spans := len(feed.own)
	feed.mu.Unlock()
	run(t, c, "UPDATE child SET parent = 77 WHERE id = 2")
	txs := f.fence()
	if len(txs) != 1 || all(txs) || len(txs[0].Changes) != 1 {
		t.Errorf("another program's commit is told as %+v", txs)
	}
	_ = f.end()
	if spans != 1 || feed.log.looked != 1 {
		t.Errorf("%d commits left %d spans, and %d rows were read", commits, spans, feed.log.looked)
	}
}
