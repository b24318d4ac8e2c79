package httpfront

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/explore"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/webpage"
)

// explorePath is what is below "/-" of the files of the page, and of what it is told.
const explorePath = "/explore/"

// explorePage answers a browser at / with the page that shows the rows.
func (c *call) explorePage() *answer {
	a := c.exploreFile(explore.Files[explore.Page], "no-store")
	a.more += "Vary: Accept\r\n"
	return a
}

// exploreBelow answers what is below /-/explore/.
func (c *call) exploreBelow(name string) (*answer, error) {
	file, ok := explore.Files[name]
	switch {
	case name != "tables" && (!ok || name == explore.Page):
		return nil, problem{kind: kindNotFound, detail: "nothing is served at this path"}
	case c.r.Method != http.MethodGet && c.r.Method != http.MethodHead:
		return nil, c.notAllowed("GET, HEAD")
	case !ok:
		return c.exploreTables()
	}
	return c.unlessKnown(c.exploreFile(file, "no-cache"), file.Tag), nil
}

// unlessKnown returns an answer with a tag, or 304 if the client has what the tag is of.
func (c *call) unlessKnown(a *answer, tag string) *answer {
	for known := range httprule.EachTag(row.Alias(c.r.IfNoneMatch)) {
		if strings.TrimPrefix(known, "W/") == tag {
			return &answer{code: http.StatusNotModified, shared: a.shared, tag: tag}
		}
	}
	a.more += "Etag: " + tag + "\r\n"
	return a
}

func (c *call) exploreFile(f webpage.File, cacheControl string) *answer {
	return &answer{code: http.StatusOK, shared: c.shared(cacheControl), kind: f.Type, body: f.Body,
		more: "Content-Security-Policy: " + explore.Policy + "\r\n" +
			"Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"}
}

// Pages are what else there is for people, and for programs, beside this listener.
type Pages struct {
	// Tabs returns the pages for who sends a request; nil: there are no others.
	Tabs func(*http.Request) webpage.Pages

	// Console returns what answers paths below ConsolePath for who sends a request; nil: nothing
	// does, as where Console is nil.
	Console func(*http.Request) http.Handler

	Redis string // the port of Redis' protocol; "": there is none

	// RedisKey returns what keys of a resource begin with; nil: there is no Redis.
	RedisKey func(resource string) string
}

// A tableView is what the page is told of a resource.
type tableView struct {
	Name      string         `json:"name"`
	Key       []string       `json:"key"`
	Columns   []columnView   `json:"columns"`
	Relations []relationView `json:"relations"`
	Max       int            `json:"max"`   // of limit
	Query     bool           `json:"query"` // lists take filters and orders
	Watch     bool           `json:"watch"`
	Edit      bool           `json:"edit"` // by whoever asks
	Redis     string         `json:"redis,omitempty"`
}

type columnView struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Sort bool   `json:"sort"` // the database can compare values
}

// A relationView leads from the rows of a table to those of another.
type relationView struct {
	To    string   `json:"to"`
	Embed bool     `json:"embed"`          // select can embed it
	Hint  string   `json:"hint,omitempty"` // by which it then tells it from others to the table
	One   bool     `json:"one"`
	From  []string `json:"from"` // members; none: there is a table between
	On    []string `json:"on"`   // members of the other, which From are equal to
}

// exploreTables tells the page of the resources that the request's principal may read.
func (c *call) exploreTables() (*answer, error) {
	c.private = c.r.credentials() != nil
	tables := []tableView{}
	for _, res := range c.o.Resources.All() {
		if c.reads(res) {
			tables = append(tables, c.tableView(res))
		}
	}
	var tabs []webpage.Tab
	if c.o.Pages.Tabs != nil && c.r.http != nil {
		tabs = c.o.Pages.Tabs(c.r.http).Tabs(string(c.r.Host))
	}
	body, err := json.Marshal(map[string]any{"tables": tables, "tabs": tabs,
		"redis": c.o.Pages.Redis})
	if err != nil {
		return nil, fmt.Errorf("encode the tables: %w", err)
	}
	return &answer{code: http.StatusOK, shared: c.shared("no-store"), kind: "application/json",
		body: body, more: "Cross-Origin-Resource-Policy: same-origin\r\n"}, nil
}

func (c *call) tableView(res *resource.Resource) tableView {
	v := tableView{Name: res.Name(), Key: keyNames(res), Columns: []columnView{},
		Relations: []relationView{}, Max: res.MaxLimit(), Watch: !res.NoFeed(),
		Edit: c.edits(res)}
	if c.o.Pages.RedisKey != nil {
		v.Redis = c.o.Pages.RedisKey(res.Name())
	}
	shape, plan := res.Shape(), res.Plan()
	if shape == nil || plan == nil {
		return v
	}
	table := plan.Table()
	v.Query = table != nil
	for i := range shape.Fields {
		f := &shape.Fields[i]
		v.Columns = append(v.Columns, columnView{Name: f.Name, Type: kindNames[f.Kind],
			Sort: compares(table, f.Name)})
	}
	if table != nil {
		v.Relations = c.relationViews(table, res.Relations())
	}
	return v
}

// edits reports whether the request's principal may change documents of a resource.
func (c *call) edits(res *resource.Resource) bool {
	return allows(res, source.OpMerge) && c.writes(res)
}

// writes reports whether the request's principal may send what a resource takes of writes.
func (c *call) writes(res *resource.Resource) bool {
	rule := front.WriteRule(res.Access().Write, c.o.Open)
	if rule == "public" {
		return true
	}
	_, err := c.m.passAs(c.o, c.r, res.Name(), rule, c.writers())
	return err == nil
}

func compares(t *query.Table, member string) bool {
	return t != nil && slices.ContainsFunc(t.Columns, func(col query.Column) bool {
		return col.Member == member && col.Compares
	})
}

// relationViews returns the relations to what the principal may read.
func (c *call) relationViews(own *query.Table, all []query.Relation) []relationView {
	list := []relationView{}
	for i := range all {
		rel := &all[i]
		if !c.readsNamed(rel.Name) || rel.Link != nil && !c.readsNamed(rel.Link.Name) {
			continue
		}
		v := relationView{To: rel.Name, One: rel.One, From: []string{}, On: []string{}}
		v.Hint, v.Embed = hintOf(rel, all)
		if rel.Link == nil {
			from, on := own.Members(rel.From), rel.Table.Members(rel.To)
			if from != nil && on != nil {
				v.From, v.On = from, on
			}
		}
		list = append(list, v)
	}
	return list
}

func (c *call) readsNamed(name string) bool {
	res, ok := c.o.Resources.Lookup(name)
	return ok && c.reads(res)
}

// hintOf returns what tells a relation from all others to the same table, "" where there is no
// other; false: nothing does.
func hintOf(rel *query.Relation, all []query.Relation) (string, bool) {
	same := func(has func(*query.Relation) bool) (n int) {
		for i := range all {
			if all[i].Name == rel.Name && has(&all[i]) {
				n++
			}
		}
		return n
	}
	if same(func(*query.Relation) bool { return true }) == 1 {
		return "", true
	}
	for _, h := range rel.Hints {
		if same(func(r *query.Relation) bool { return slices.Contains(r.Hints, h) }) == 1 {
			return h, true
		}
	}
	return "", false
}

// kindNames are what people call the kinds of values.
var kindNames = [...]string{row.Bool: "boolean", row.Int: "integer", row.Uint: "integer",
	row.Float: "float", row.Float32: "float", row.Decimal: "decimal", row.Text: "text",
	row.Bytes: "bytes", row.JSON: "json", row.Date: "date", row.Time: "time",
	row.Datetime: "datetime", row.DatetimeTZ: "datetime", row.UUID: "uuid", row.Array: "array",
	row.Rows: "rows", row.Row: "row", row.Null: ""}
