package httpfront

import (
	"strconv"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// A ListQuestion is what GET of a list asks for, by its query alone.
type ListQuestion struct {
	Ask    *resource.ListAsk // nil: documents by their keys
	Keys   []row.Key
	Format row.Format
}

// ReadList reads the query of a list outside a request, for people who ask what memory
// has of it. Without a format it means JSON.
func ReadList(res *resource.Resource, raw string) (ListQuestion, error) {
	spec := specOf(res)
	if spec == nil { // the database has not been reached since the start
		return readQuery(res, raw)
	}
	var l listQuery
	if _, err := l.parse(raw, spec, nil); err != nil {
		return readQuery(res, raw)
	}
	of, err := formatOf(l.format)
	switch {
	case err != nil:
		return ListQuestion{}, err
	case l.filtered:
		return ListQuestion{Keys: l.keys, Format: of}, nil
	}
	limit := l.limit
	if limit == 0 {
		limit = min(front.ListRows, max(res.MaxLimit(), 1))
	}
	return ListQuestion{Format: of, Ask: &resource.ListAsk{After: l.after, Limit: limit,
		Variant: pageVariant(l.format, l.limit), Raw: raw, Alone: l.format == ""}}, nil
}

// readQuery reads a query in the language of package query.
func readQuery(res *resource.Resource, raw string) (ListQuestion, error) {
	all := func(string) error { return nil } // an operator reads every resource
	access := res.AccessVersion()
	want, err := res.Query(raw, query.Options{Reads: all})
	if err != nil {
		return ListQuestion{}, err
	}
	of, err := formatOf(want.Format)
	if err != nil {
		return ListQuestion{}, err
	}
	s := selection{want: want}
	return ListQuestion{Format: of, Ask: &resource.ListAsk{Query: want, Variant: s.variant(),
		Raw: raw, Alone: want.Format == "", Access: access}}, nil
}

// formatOf returns the format that a query names; "" is JSON.
func formatOf(name string) (row.Format, error) {
	if name == "" {
		return row.FormatJSON, nil
	}
	m, err := mediaByName(name, nil)
	if err != nil {
		return 0, err
	}
	return m.format, nil
}

// pageVariant tells apart pages of the same documents that are answered in different words.
func pageVariant(format string, limit int) string {
	return format + "," + strconv.FormatBool(limit > 0)
}
