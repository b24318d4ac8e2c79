package notify

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dbtest.Wrap(m)) }
