package transfer

import (
	"fmt"
	"strings"
)

// aliases are the links of golink that lead to another one: "/bugs", or "/bugs/new". They
// wait until the file has been read.
type aliases struct {
	of      map[string]Link // by golinkName
	waiting []Link
}

// golinkName returns the name by which golink looks a link up.
func golinkName(code string) string {
	return strings.ReplaceAll(strings.ToLower(code), "-", "")
}

// keep notes a link, and reports whether it is an alias that waits.
func (a *aliases) keep(l Link, err error) bool {
	if err != nil {
		return false
	}
	a.of[golinkName(l.Code)] = l
	if !strings.HasPrefix(l.URL, "/") || strings.HasPrefix(l.URL, "//") {
		return false
	}
	a.waiting = append(a.waiting, l)
	return true
}

// maxAliases is how many aliases of aliases are followed.
const maxAliases = 8

// lead returns an alias with the target that it leads to now.
func (a *aliases) lead(l Link) (Link, error) {
	name := l.URL
	for range maxAliases {
		code, rest, more := strings.Cut(strings.TrimPrefix(l.URL, "/"), "/")
		to, ok := a.of[golinkName(code)]
		if !ok {
			return l, &Refusal{Line: l.Line, Code: l.Code, Reason: fmt.Sprintf(
				"it is an alias of %s, which the file has not", clip(name))}
		}
		if l.URL = to.URL; more && rest != "" {
			l.URL = strings.TrimSuffix(to.URL, "/") + "/" + rest
		}
		if !strings.HasPrefix(l.URL, "/") {
			l.Lost = append(l.Lost, fmt.Sprintf("that it is an alias of %s is not taken over: it "+
				"leads where that leads now, whatever becomes of it", clip(name)))
			return l, nil
		}
	}
	return l, &Refusal{Line: l.Line, Code: l.Code, Reason: fmt.Sprintf(
		"it is an alias of %s, which leads in a circle", clip(name))}
}
