package config

import (
	"fmt"
	"sort"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// query checks the text of a query and its parameters. What the tables and
// columns are, only the database knows.
func (v *validator) query(at string, r *Resource) {
	here := at + ".query"
	params, words, err := scanQuery(r.Query)
	switch {
	case err != nil:
		v.addf(here, "%v", err)
		return
	case len(words) == 0 || (words[0] != "SELECT" && words[0] != "WITH"):
		v.addf(here, "want a query that begins with SELECT or WITH")
		return
	}
	if len(r.Depends) == 0 && !v.c.isSet(at+".depends") {
		v.addf(at, "needs depends: the tables whose rows change what the query returns, "+
			"such as [{table: user, key: id}]")
	}
	if len(r.Key) == 0 {
		if !v.c.isSet(at + ".key") {
			v.addf(at, "needs key: the column or parameter that the query is asked by")
		}
		return
	}
	known := map[string]bool{"key": len(r.Key) == 1}
	for _, k := range r.Key {
		known[k] = true
	}
	used := make(map[string]bool)
	for _, p := range params {
		if !known[p] {
			v.addf(here, "the parameter :%s is not in key%s", p, row.DidYouMean(p, r.Key))
		}
		used[p] = true
	}
	for _, k := range r.Key {
		if !used[k] && !(len(r.Key) == 1 && used["key"]) {
			v.addf(here, "does not use the parameter :%s", k)
		}
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

// scanQuery returns the parameters (:name) of a query, each once, and its
// words in capitals. Quoted text and comments are passed over. A second
// statement is an error.
func scanQuery(q string) (params, words []string, err error) {
	seen := make(map[string]bool)
	for i := 0; i < len(q); {
		c := q[i]
		end := skipQuoted(q, i)
		switch {
		case end < 0:
			return nil, nil, fmt.Errorf("a quote or comment is not closed")
		case end > i:
			i = end
		case c == ';':
			if strings.TrimSpace(q[i+1:]) != "" {
				return nil, nil, fmt.Errorf("want one statement, found a semicolon within")
			}
			i++
		case c == ':' && strings.HasPrefix(q[i:], "::"):
			i += 2
		case c == ':' && i+1 < len(q) && isWord(q[i+1]):
			end := wordEnd(q, i+1)
			if name := q[i+1 : end]; !seen[name] && !isDigit(name[0]) {
				seen[name] = true
				params = append(params, name)
			}
			i = end
		case isWord(c):
			end := wordEnd(q, i)
			words = append(words, strings.ToUpper(q[i:end]))
			i = end
		default:
			i++
		}
	}
	sort.Strings(params)
	return params, words, nil
}

// skipQuoted returns where the quoted text or comment that begins at i ends; i
// when none begins there, -1 when it does not end.
func skipQuoted(q string, i int) int {
	open, end := "", ""
	switch {
	case q[i] == '\'' || q[i] == '"' || q[i] == '`':
		open, end = q[i:i+1], q[i:i+1]
	case strings.HasPrefix(q[i:], "/*"):
		open, end = "/*", "*/"
	case strings.HasPrefix(q[i:], "--"):
		if n := strings.IndexByte(q[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(q)
	default:
		return i
	}
	n := strings.Index(q[i+len(open):], end)
	if n < 0 {
		return -1
	}
	return i + len(open) + n + len(end)
}

// wordEnd returns where the word that begins at i ends.
func wordEnd(q string, i int) int {
	for i < len(q) && isWord(q[i]) {
		i++
	}
	return i
}

// isWord reports whether c may be part of a name.
func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || isDigit(c) || (c|0x20 >= 'a' && c|0x20 <= 'z')
}

// isDigit reports whether c is a decimal digit.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
