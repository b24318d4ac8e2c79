package stress

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A link that breaks off while it passes something on leaves what reads and passes on
// behind: toxiproxy's, which waits for a receiver that has gone.
func TestMain(m *testing.M) {
	waittest.SideBySide(4)
	const toxiproxy = "github.com/Shopify/toxiproxy/v2"
	goleak.VerifyTestMain(dbtest.Wrap(m),
		goleak.IgnoreAnyFunction(toxiproxy+"/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).read"))
}
