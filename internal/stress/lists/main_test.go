package lists

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) {
	waittest.SideBySide(4)
	goleak.VerifyTestMain(dbtest.Wrap(m))
}
