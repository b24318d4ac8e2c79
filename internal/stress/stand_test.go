package stress

import (
	"testing"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
)

// A plan says what a stand serves.
type plan = testbed.Plan

// A stand is hotrow as it is served, over HTTP and the wire, with a database.
type stand struct {
	*testbed.Bed

	wireAddr string // "" until somebody comes by the wire
}

// newStand serves the database at url until the test ends.
func newStand(t testing.TB, url string, p plan) *stand {
	t.Helper()
	return &stand{Bed: testbed.New(t, url, p)}
}

// newStandOver serves src until the test ends.
func newStandOver(t testing.TB, src source.Source, p plan) *stand {
	t.Helper()
	return &stand{Bed: testbed.Over(t, src, p)}
}
