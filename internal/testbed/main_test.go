package testbed

import (
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
