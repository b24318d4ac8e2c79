package fresh

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// TestSpace_AnswerNotStoredTakesTheCopyAway: of two loads beside each other one
// is stored and the other is answered. The other may have read a change that is
// not delivered yet; whoever asks after it must not be told what was before.
func TestSpace_AnswerNotStoredTakesTheCopyAway(t *testing.T) {
	drops := 0
	d, s := newAttached(func(row.Key) { drops++ })
	first, _ := s.Begin("k", row.FormatJSON, Any)
	d.Apply(2, []Touch{{Space: s, Children: []Child{{"t", "2"}}}}, nil, 0)
	second, leader := s.Begin("k", row.FormatJSON, Any)
	if !leader || !s.Send(first) || !s.Send(second) {
		t.Fatal("there are not two loads beside each other")
	}
	if !finish(s, first) || drops != 0 {
		t.Fatal("the first was not stored")
	}
	if finishAs(1, s, second) || drops != 1 {
		t.Errorf("the copy was dropped %d times after an answer that may be newer, want once", drops)
	}
}
