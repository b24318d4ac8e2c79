package linksfront

import (
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Table is the name of the table whose rows are links.
const Table = "links"

// A Spec says how the resource of links is served.
type Spec struct {
	Source string        // whose table it is
	Name   string        // of the resource
	Access resource.Rule // who may read it over other fronts
	MaxAge time.Duration // see Preparer

	// MaxStale is how long redirects go on as they were while the database does
	// not say what has changed.
	MaxStale time.Duration
}

// Resource returns the specification of the resource of links: rows by code. It
// takes no writes; the API makes links, and checks them.
func (s Spec) Resource() resource.Spec {
	stale := resource.LagStale
	return resource.Spec{
		Source: s.Source,
		Table: &source.Spec{
			Name: s.Name, Table: Table, Key: []string{"code"},
			Fields: map[string]source.FieldSpec{"url_hash": {Hide: true}},
		},
		Access:   resource.Access{Read: s.Access, Write: "none"},
		Formats:  []row.Format{row.FormatJSON},
		MaxLimit: 1000,
		Stale: resource.StalePolicy{
			OnLag: &stale, MaxStale: &s.MaxStale, StaleIfError: &s.MaxStale,
		},
		Preparer: &Preparer{MaxAge: s.MaxAge},
	}
}
