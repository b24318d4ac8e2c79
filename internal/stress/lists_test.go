package stress

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// lists returns lists: pages of rows that come and go, of a table that is truncated, of
// rows with others in them; and what filters find, with the largest values and of a parent.
func (w *world) lists() []*page {
	list := []*page{
		{table: "flat", limit: 25}, {table: "flat", limit: 10, key: 30},
		{table: "flat", limit: 40, key: 60}, {table: "side", limit: 30},
		{table: "side", limit: 5, key: 7}, {table: "dept", limit: 20},
		{table: "dept", limit: 3, key: 4},
		{table: "flat", limit: 25, least: 300}, {table: "flat", limit: 100, least: 1001, count: true},
		{table: "side", limit: 5, least: 1}, {table: "side", limit: 25, least: 410, count: true},
	}
	for parent := range int32(4) {
		list = append(list, &page{table: "emp", limit: 100, parent: parent + 1},
			&page{table: "emp", limit: 2, parent: parent + 5, count: true})
	}
	return list
}

func (p *page) listPath() string {
	switch {
	case p.least > 0:
		return fmt.Sprintf("/%s?value=gte.%d&order=value.desc&limit=%d", p.table, p.least, p.limit)
	case p.parent > 0:
		return fmt.Sprintf("/%s?deptno=eq.%d&limit=%d", p.table, p.parent, p.limit)
	case p.key == 0:
		return fmt.Sprintf("/%s?limit=%d", p.table, p.limit)
	}
	return fmt.Sprintf("/%s?limit=%d&after=%d", p.table, p.limit, p.key)
}

// headers returns those that a request for the page has.
func (p *page) headers() []string {
	if p.count {
		return []string{"Prefer: count=exact"}
	}
	return nil
}

// counted returns an error unless an answer says how many rows the filter finds now.
func (w *world) counted(p *page, a *answer) error {
	of := map[string][]*Register{"flat": w.flat[:], "side": w.side[:], "emp": w.emp[:]}[p.table]
	n := 0
	for _, r := range of[1:] {
		if s := r.Last(); p.least > 0 && s.Value >= p.least || p.parent > 0 && s.Parent == p.parent {
			n++
		}
	}
	if of := a.header.Get("Content-Range"); !strings.HasSuffix(of, fmt.Sprint("/", n)) {
		return fmt.Errorf("Content-Range %q, and there are %d", of, n)
	}
	return nil
}

// filteredLooks returns what a filtered list says of the registers: of the rows in it, and
// of those that would be in it if they were as the filter wants them.
func (w *world) filteredLooks(p *page, rows []rowText, a *answer) ([]Look, error) {
	_, text, _ := strings.Cut(a.header.Get("Content-Range"), "/")
	total, err := strconv.Atoi(text)
	switch {
	case p.count != (err == nil), (a.code == 206) != (p.count && len(rows) < total):
		return nil, fmt.Errorf("%s: %d with Content-Range %q", p.path(), a.code,
			a.header.Get("Content-Range"))
	case p.count && (len(rows) > total || len(rows) < min(total, p.limit)):
		return nil, fmt.Errorf("%s: %d rows of %d", p.path(), len(rows), total)
	}
	of := map[string][]*Register{"flat": w.flat[:], "side": w.side[:], "emp": w.emp[:]}[p.table]
	found := make(map[int32]*rowText)
	below, last := p.least, int32(len(of)-1)
	for i := range rows {
		key := max(rows[i].ID, rows[i].Empno)
		if found[key] = &rows[i]; i == p.limit-1 { // others may follow
			below, last = rows[i].Value+1, key
		}
	}
	var looks []Look
	for k := int32(1); int(k) < len(of); k++ {
		r := found[k]
		switch {
		case r != nil:
			looks = append(looks, Look{Register: of[k], State: State{Value: r.Value, Parent: p.parent}})
		case p.least > 0:
			looks = append(looks, Look{Register: of[k], Below: below})
		case k <= last:
			looks = append(looks, Look{Register: of[k], NotIn: p.parent})
		}
	}
	return looks, nil
}

// listLooks returns what a list says of the registers: of each key from where it begins
// to its last row, or to the last there may be if it is not full.
func (w *world) listLooks(p *page, a *answer) ([]Look, error) {
	var rows []rowText
	if err := json.Unmarshal(a.body, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", p.path(), err, a.body)
	}
	if p.least > 0 || p.parent > 0 {
		return w.filteredLooks(p, rows, a)
	}
	of := map[string][]*Register{"flat": w.flat[:], "side": w.side[:], "dept": w.dept[:]}[p.table]
	last := int32(len(of) - 1)
	found := make(map[int32]*rowText)
	for i := range rows {
		key := rows[i].ID
		if rows[i].Deptno != nil {
			key = *rows[i].Deptno
		}
		if found[key] = &rows[i]; i == p.limit-1 {
			last = key
		}
	}
	var looks []Look
	for k := p.key + 1; k <= last; k++ {
		r := found[k]
		switch {
		case r == nil:
			looks = append(looks, Look{Register: of[k]})
		case p.table == "dept":
			looks = append(looks, w.deptLooks(k, r)...)
		default:
			looks = append(looks, Look{Register: of[k], State: State{Value: r.Value}})
		}
	}
	return looks, nil
}
