package ops

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	pageLimit    = 50   // what a page has unless it is asked for more or less
	maxPageLimit = 1000 // the most
)

// A Page is a part of a long list: what has Name in its text, from a place on. Sort names an order,
// with "-" before it for the largest first; "": the order that the list has.
type Page struct {
	Name  string
	Sort  string
	From  int
	Limit int
}

// A Paged answer says which part of a list it is.
type Paged struct {
	All   int `json:"all"`   // in the whole list
	Found int `json:"found"` // of them, what has the name
	From  int `json:"from"`  // of those, how many come before this page
}

// parsePage reads name, sort, from and limit, each of which may be left out. sorts are what the
// list can be sorted by.
func parsePage(rawQuery string, sorts []string) (Page, error) {
	p := Page{Limit: pageLimit}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return p, fmt.Errorf("read the query: %w", err)
	}
	for key, values := range query {
		if len(values) != 1 {
			return p, fmt.Errorf("%s is there %d times, want once", key, len(values))
		}
		switch v := values[0]; key {
		case "name":
			p.Name = strings.ToLower(v)
		case "sort":
			if p.Sort = v; !slices.Contains(sorts, strings.TrimPrefix(v, "-")) {
				return p, fmt.Errorf("sort=%s: want one of [%s], or one of them after a -", v,
					strings.Join(sorts, ", "))
			}
		case "from":
			if p.From, err = strconv.Atoi(v); err != nil || p.From < 0 {
				return p, fmt.Errorf("from=%s: want a number of 0 or more", v)
			}
		case "limit":
			if p.Limit, err = strconv.Atoi(v); err != nil || p.Limit < 1 || p.Limit > maxPageLimit {
				return p, fmt.Errorf("limit=%s: want a number from 1 to %d", v, maxPageLimit)
			}
		default:
			return p, fmt.Errorf("want name, sort, from and limit, not %q", key)
		}
	}
	return p, nil
}

// cutPage returns the part of list that p asks for; text is what is searched for the name. A
// place behind the end is that of the last page.
func cutPage[T any](list []T, p Page, text func(*T) string) ([]T, Paged) {
	found := list
	if p.Name != "" {
		found = nil
		for i := range list {
			if strings.Contains(strings.ToLower(text(&list[i])), p.Name) {
				found = append(found, list[i])
			}
		}
	}
	last := max(0, len(found)-1) / p.Limit * p.Limit
	from := min(p.From, last)
	part := found[from:min(len(found), from+p.Limit)]
	return append([]T{}, part...), Paged{All: len(list), Found: len(found), From: from}
}

// sorted returns a list as a Page has it sorted.
func sorted[T any](list []T, orders map[string]func(a, b *T) int, by string) []T {
	name, falling := strings.CutPrefix(by, "-")
	order := orders[name]
	if order == nil {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b T) int {
		if falling {
			return order(&b, &a)
		}
		return order(&a, &b)
	})
	return list
}

// servePage answers with what answer makes of the page that is asked for. sorts are what its list
// can be sorted by.
func servePage(w http.ResponseWriter, r *http.Request, sorts []string, answer func(Page) any) {
	p, err := parsePage(r.URL.RawQuery, sorts)
	if err != nil {
		writeText(w, http.StatusBadRequest, err.Error()+"\n")
		return
	}
	writeJSON(w, answer(p))
}
