package stress

import (
	"encoding/json"
	"fmt"
)

// lists returns pages of lists: of rows that come and go, of a table that is truncated,
// of rows with others in them.
func (w *world) lists() []*page {
	list := []*page{
		{table: "flat", limit: 25}, {table: "flat", limit: 10, key: 30},
		{table: "flat", limit: 40, key: 60}, {table: "side", limit: 30},
		{table: "side", limit: 5, key: 7}, {table: "dept", limit: 20},
		{table: "dept", limit: 3, key: 4},
	}
	return list
}

func (p *page) listPath() string {
	if p.key == 0 {
		return fmt.Sprintf("/%s?limit=%d", p.table, p.limit)
	}
	return fmt.Sprintf("/%s?limit=%d&after=%d", p.table, p.limit, p.key)
}

// listLooks returns what a list says of the registers: of each key from where it begins
// to its last row, or to the last there may be if it is not full.
func (w *world) listLooks(p *page, a *answer) ([]Look, error) {
	var rows []rowText
	if err := json.Unmarshal(a.body, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", p.path(), err, a.body)
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
