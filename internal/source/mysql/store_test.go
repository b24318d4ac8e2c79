package mysql

import (
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

func TestMariaDB_Store(t *testing.T) {
	sourcetest.RunStore(t, func(t *testing.T) source.Store {
		return openSource(t, dbtest.MariaDB(t), Options{})
	})
}
