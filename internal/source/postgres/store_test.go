package postgres

import (
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

func TestPostgres_Store(t *testing.T) {
	t.Parallel()
	sourcetest.RunStore(t, func(t *testing.T) source.Store {
		return openSource(t, dbtest.Postgres(t), Options{})
	})
}
