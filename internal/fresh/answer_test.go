package fresh

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// twoLoads returns two loads of a key beside each other, both sent: others have been answered
// in another format between, with the state of finish.
func twoLoads(t *testing.T, s *Space) (first, second *Lease) {
	t.Helper()
	first, _ = s.Begin("k", row.FormatJSON, Any)
	s.Send(first)
	keep(t, s, "k", row.FormatMsgPack)
	second, leader := s.Begin("k", row.FormatJSON, Any)
	if !leader || !s.Send(second) {
		t.Fatal("there are not two loads beside each other")
	}
	return first, second
}

// TestSpace_AnswerNotStoredTakesTheCopyAway: of two loads beside each other one
// is stored and the other is answered. The other may have read a change that is
// not delivered yet; whoever asks after it must not be told what was before.
func TestSpace_AnswerNotStoredTakesTheCopyAway(t *testing.T) {
	drops := 0
	_, s := newAttached(func(row.Key) { drops++ })
	first, second := twoLoads(t, s)
	if !finish(s, first) || drops != 0 {
		t.Fatal("the first was not stored")
	}
	if finishAs(1, s, second) || drops != 1 {
		t.Errorf("the copy was dropped %d times after an answer that may be newer, want once", drops)
	}
}
