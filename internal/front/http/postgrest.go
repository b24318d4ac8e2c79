package httpfront

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// The profile is what clients of PostgREST find below Options.Postgrest: the same resources,
// rules and lists as everywhere, in the words of PostgREST: writes of many rows by a condition,
// and errors of four members.

// profilePath returns what follows the path of the profile.
func (o *settings) profilePath(path string) (rest string, ok bool) {
	if o.Postgrest == "" {
		return "", false
	}
	rest, ok = strings.CutPrefix(path, o.Postgrest)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// parseProfile reads a path below that of the profile, which names a list.
func (t *target) parseProfile(rest string) error {
	*t = target{kind: pathList, profile: true}
	name, err := decodeSegment(strings.TrimPrefix(rest, "/"))
	if err != nil {
		return err
	}
	if function, ok := strings.CutPrefix(name, "rpc/"); ok && isSegment(function) {
		t.kind, t.name = pathFunction, function
		return nil
	}
	if !isSegment(name) {
		return problem{kind: kindNotFound, code: "PGRST125",
			detail: "Invalid path specified in request URL"}
	}
	t.name = name
	return nil
}

// isSegment reports whether a name stands alone between slashes.
func isSegment(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.Contains(name, "/")
}

// inProfile reports whether the request is for the profile.
func (c *call) inProfile() bool {
	path, ok := strings.CutPrefix(row.Alias(c.r.Path), c.o.BasePath)
	if ok {
		_, ok = c.o.profilePath(path)
	}
	return ok
}

// below answers what is below the path of the profile.
func (c *call) below(t *target) (*answer, error) {
	a, err := c.named(t)
	if err != nil {
		return c.behind(t, err)
	}
	return a, nil
}

// named answers what t names, without the fallback.
func (c *call) named(t *target) (a *answer, err error) {
	if t.kind == pathFunction {
		return nil, c.noFunction(t.name)
	}
	find := c.o.find
	if c.o.granted() {
		find = c.findGranted
	}
	if c.res, err = find(t.name); err != nil {
		return nil, err
	}
	if t.refused != nil {
		return nil, t.refused
	}
	return c.profile()
}

// noFunction refuses to call a function.
func (c *call) noFunction(name string) error {
	if _, err := c.m.role(c.o, c.r); err != nil {
		return err
	}
	return problem{kind: kindNotFound, code: codeNoFunction,
		detail: "Could not find the function " + clip(name) + " in the schema cache",
		hint:   "functions are not called here"}
}

const codeNoFunction = "PGRST202"

// profile answers /{resource} below the path of the profile.
func (c *call) profile() (*answer, error) {
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		return c.list()
	case http.MethodPost:
		if c.allows(source.OpCreate) {
			return c.writeMany(source.OpCreate)
		}
	case http.MethodPut:
		if c.allows(source.OpCreate) && c.allows(source.OpMerge) {
			return c.writeMany(source.OpReplace)
		}
	case http.MethodPatch:
		if c.allows(source.OpMerge) {
			return c.writeMany(source.OpMerge)
		}
	case http.MethodDelete:
		if c.allows(source.OpDelete) {
			return c.writeMany(source.OpDelete)
		}
	case http.MethodOptions:
		return c.options(c.profileMethods())
	}
	return nil, c.notAllowed(c.profileMethods())
}

func (c *call) profileMethods() string {
	list := "GET, HEAD, OPTIONS"
	for _, m := range []struct {
		name string
		op   source.Op
	}{{"POST", source.OpCreate}, {"PUT", source.OpReplace}, {"PATCH", source.OpMerge},
		{"DELETE", source.OpDelete}} {
		if c.allows(m.op) {
			list += ", " + m.name
		}
	}
	return list
}

// appendFour appends the body of p as PostgREST has it: clients hand all members of it on.
func (p *problem) appendFour(dst []byte) []byte {
	code := p.code
	if code == "" {
		code = p.kind.profileCode()
	}
	dst = appendMember(dst, `{"code":`, code)
	dst = appendOptional(dst, `,"details":`, front.Clip(p.details, front.ProblemText))
	hint := p.hint
	if hint == "" {
		hint = p.kind.Hint
	}
	dst = appendOptional(dst, `,"hint":`, hint)
	return append(appendMember(dst, `,"message":`, front.Clip(p.Error(), front.ProblemText)), '}')
}

// profileCode is code as PostgREST has it, where it has one.
func (k *kind) profileCode() string {
	switch k {
	case kindBadBody:
		return "PGRST102"
	case kindBadQuery, kindBadPath:
		return "PGRST100"
	case kindUnauthorized:
		return "PGRST301"
	case kindForbidden, kindDatabaseForbids:
		return "42501"
	case kindNotFound, kindGone:
		return "PGRST205"
	case kindMethod, kindReadOnly:
		return "PGRST117"
	case kindRefusedHeader:
		return "PGRST122"
	case kindMediaType, kindNotAcceptable:
		return "PGRST107"
	}
	return k.code()
}

// sqlStates are the SQLSTATEs of what MariaDB, MySQL and SQLite say by numbers of their own.
var sqlStates = map[string]string{
	"1062": "23505", "1586": "23505", "1451": "23503", "1452": "23503", "1048": "23502",
	"1364": "23502", "3819": "23514", "4025": "23514", // MariaDB, MySQL
	"1555": "23505", "2067": "23505", "787": "23503", "1299": "23502", "275": "23514", // SQLite
}

// inWords gives a problem the status and the code that clients of PostgREST know it by.
func (p *problem) inWords(res *resource.Resource) {
	state, number, both := strings.Cut(p.code, "/") // as MariaDB has it: 23000/1062
	if !both {
		number = state
	}
	if known := sqlStates[number]; known != "" {
		p.code = known
	} else if both {
		p.code = state
	}
	switch {
	case p.code == "PGRST116":
		p.kind = kindNotSingular
	case p.kind == kindNotFound && res == nil && p.code == "":
		p.detail = "Could not find the table in the schema cache"
	}
}

// profileQuery returns the query of a list as it is meant in the profile: without select the
// members are the columns, without limit there are as many rows as there may be, and a larger
// limit is cut.
func (c *call) profileQuery(raw string) string {
	most := max(c.res.MaxLimit(), 1)
	var pairs []string
	chosen, limited := false, false
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "":
			continue
		case "select":
			chosen = value != ""
			if !chosen {
				continue
			}
		case "limit":
			limited = true
			if n, err := strconv.Atoi(value); err == nil && n > most {
				pair = "limit=" + strconv.Itoa(most)
			}
		}
		pairs = append(pairs, pair)
	}
	if !chosen {
		pairs = append(pairs, "select=*")
	}
	if !limited {
		pairs = append(pairs, "limit="+strconv.Itoa(most))
	}
	return strings.Join(pairs, "&")
}
