package httpfront

import (
	"strings"

	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// The media of lists that the profile alone has.
const (
	csvType      = "text/csv; charset=utf-8"
	strippedType = ";nulls=stripped" // behind arrayType or objectType
	arrayType    = "application/vnd.pgrst.array+json"
)

// profileMedia are the representations of lists in the profile besides documentMedia.
var profileMedia = []media{
	{row.FormatJSON, arrayType + strippedType},
	{row.FormatJSON, objectType + strippedType},
	{row.FormatJSON, csvType},
}

// profileNames are what an Accept header is compared with in the profile.
var profileNames = append(append([]string{}, documentNames[:]...), "text/csv")

// profileAccept returns the representation of rows that the profile is asked for.
func profileAccept(accept string) (*media, error) {
	i, ok := httprule.Negotiate([]string{accept}, profileNames)
	if !ok {
		return nil, problem{kind: kindNotAcceptable}
	}
	stripped := strings.Contains(strings.ReplaceAll(strings.ToLower(accept), " ", ""), strippedType)
	switch name := profileNames[i]; {
	case i == len(documentMedia):
		return &profileMedia[2], nil
	case stripped && name == arrayType:
		return &profileMedia[0], nil
	case stripped && name == objectType:
		return &profileMedia[1], nil
	}
	return &documentMedia[i], nil
}

// A rendering is how the profile writes rows.
type rendering struct{ object, stripped, csv bool }

func (m *media) rendering() rendering {
	return rendering{object: strings.HasPrefix(m.name, objectType),
		stripped: strings.HasSuffix(m.name, strippedType), csv: m.name == csvType}
}

// name tells renderings apart.
func (r rendering) name() string {
	name := "array"
	switch {
	case r.csv:
		return "csv"
	case r.object:
		name = "object"
	}
	if r.stripped {
		name += "-stripped"
	}
	return name
}

// plain reports whether documents stand in the answer as they are.
func (r rendering) plain() bool { return !r.stripped && !r.csv }

// append appends rows of a shape, of which there is one if it is an object.
func (r rendering) append(dst []byte, shape *row.Shape, rows []source.Loaded) []byte {
	if r.csv {
		return appendCSV(dst, shape, rows)
	}
	var doc []byte
	if !r.object {
		dst = append(dst, '[')
	}
	for i := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		if !r.stripped {
			dst = shape.AppendJSON(dst, rows[i].Values)
			continue
		}
		doc = shape.AppendJSON(doc[:0], rows[i].Values)
		dst = row.AppendWithoutNulls(dst, doc)
	}
	if !r.object {
		dst = append(dst, ']')
	}
	return dst
}

// appendCSV appends rows with their names before them, which PostgREST leaves out where there
// are no rows.
func appendCSV(dst []byte, shape *row.Shape, rows []source.Loaded) []byte {
	if len(rows) > 0 {
		dst = shape.AppendCSVHead(dst)
	}
	dst = append(dst, '\n')
	for i := range rows {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = shape.AppendCSV(dst, rows[i].Values)
	}
	return dst
}

// profileList answers GET and HEAD of a collection in the profile.
func (c *call) profileList() (a *answer, err error) {
	q := &c.m.q
	rule := c.access(c.res).Read
	q.begin(c.o, c.res, rule)
	q.private = q.private || c.res.Spec().Rows != nil
	if c.private = q.private; q.private {
		if q.who, err = c.m.pass(c.o, c.r, c.res.Name(), rule); err != nil {
			return nil, err
		}
		c.who = q.who
	}
	if c.o.granted() {
		if c.sight, err = c.look(c.res); err != nil {
			return nil, err
		}
	}
	if specOf(c.res) == nil { // the database has not been reached since the start
		return nil, problem{kind: kindUnavailable, logged: true}
	}
	if err := q.freshness(c.r); err != nil {
		return nil, err
	}
	return c.selected(q)
}
