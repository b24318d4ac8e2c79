package memlimit

import (
	"testing"

	"github.com/hotrow/hotrow/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }
