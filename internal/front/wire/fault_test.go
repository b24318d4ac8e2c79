package wirefront

import (
	"fmt"
	"testing"

	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
)

func TestFaultOf_HasAKindForEveryFailure(t *testing.T) {
	for _, slug := range front.Slugs() {
		if kindOf[slug] == nil {
			t.Errorf("there is no kind %s", slug)
		}
	}
	for _, tt := range []struct {
		err  error
		kind *kind
	}{
		{fmt.Errorf("body: %w", rows.ErrPayload), kindBadMessage}, {row.ErrKey, kindBadKey},
		{fail(kindSlow, "late"), kindSlow}, {fmt.Errorf("what"), kindInternal},
	} {
		if got := faultOf(tt.err).kind; got != tt.kind {
			t.Errorf("%v is %s, want %s", tt.err, got.Slug, tt.kind.Slug)
		}
	}
}
