package config

import (
	"fmt"

	"github.com/hotrow/hotrow/internal/source"
)

// query checks what a query needs besides. Its parameters, tables and columns are the database's
// to check.
func (v *validator) query(at string, r *Resource) {
	if !asks.MatchString(r.Query) {
		v.addf(at+".query", "want a query that begins with SELECT or WITH")
		return
	}
	if len(r.Depends) == 0 && !v.c.isSet(at+".depends") {
		v.addf(at, "needs depends: the tables whose rows change what the query returns, "+
			"such as [{table: user, key: id}]")
	}
	if len(r.Key) == 0 && !v.c.isSet(at+".key") {
		v.addf(at, "needs key: the column or parameter that the query is asked by")
	}
}

// depends checks the tables that a query names, or a view.
func (v *validator) depends(at string, r *Resource) {
	if r.Query != "" && v.c.isSet(at+".depends") && len(r.Depends) == 0 {
		v.addf(at+".depends", "is empty: name the tables whose rows change what the query returns")
	}
	for i, d := range r.Depends {
		here := fmt.Sprintf("%s.depends[%d]", at, i)
		switch {
		case d.Path != "":
			v.path(here, r, &d)
		case d.Table == "" && !v.c.isSet(here+".table"):
			v.addf(here, "needs table, or path")
		case len(d.Key) > 0 && len(r.Key) > 0 && len(d.Key) != len(r.Key):
			v.addf(here+".key", "has %s, the key of the resource has %d",
				columns(len(d.Key)), len(r.Key))
		}
		v.distinct(here+".key", d.Key)
	}
}

// path checks a path of tables to the key.
func (v *validator) path(at string, r *Resource, d *Depend) {
	if d.Table != "" || len(d.Key) > 0 {
		v.addf(at, "path says all of it: remove table and key")
	}
	p, err := source.ParsePath(d.Path)
	if err == nil && len(r.Key) > 0 {
		_, _, err = p.Ends(r.Key)
	}
	if err != nil {
		v.addf(at+".path", "%v", err)
	}
}
