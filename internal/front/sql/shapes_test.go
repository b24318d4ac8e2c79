package sqlfront

import (
	"fmt"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

// TestShapes_RememberWhatComesAgain, however many texts come once beside it.
func TestShapes_RememberWhatComesAgain(t *testing.T) {
	s := newShapes()
	text := []byte("SELECT a FROM t WHERE id = $1")
	s.of(text)
	again := s.of(text)
	for i := range 3 * front.SQLTexts {
		s.of(fmt.Appendf(nil, "SELECT a FROM t WHERE id = %d", i))
		if s.of(text) != again {
			t.Fatalf("behind %d others it is read anew", i+1)
		}
	}
	if n := len(s.byShape); n != 2 {
		t.Errorf("%d shapes, want 2", n)
	}
}
