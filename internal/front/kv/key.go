package kv

import (
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// cut takes a key apart: the name of a resource, and the key of a row. It reports false
// when there is no separator, or not the prefix.
func (o *Options) cut(key string) (name, rest string, ok bool) {
	if o.Prefix != "" {
		if key, ok = strings.CutPrefix(key, o.Prefix); !ok {
			return "", "", false
		}
	}
	return strings.Cut(key, o.Separator)
}

// keyOfDefault returns the key that a row of Default has by a key whose name is not that of
// another resource. It reports false when it is none: every key has the prefix, and those
// of queries are lists.
func (o *Options) keyOfDefault(key string) (rest string, ok bool) {
	if o.Default == "" || !strings.HasPrefix(key, o.Prefix) {
		return "", false
	}
	if name, _, ok := o.cut(key); ok && o.Queries[name] != nil {
		return "", false
	}
	return key[len(o.Prefix):], true
}

// resourceOf returns the resource that a key's name is for. It reports false when that is
// the own name of a resource that has another one in keys.
func (o *Options) resourceOf(name string) (res string, ok bool) {
	if len(o.named) == 0 {
		return name, true
	}
	if res, ok = o.named[name]; ok {
		return res, true
	}
	_, other := o.Names[name]
	return name, !other
}

// nameOf returns the name that keys have for a resource.
func (o *Options) nameOf(res string) string {
	if name, ok := o.Names[res]; ok {
		return name
	}
	return res
}

// plainNumber returns the digits of a number without the zeros in front of them: 010 is
// 10. redis-benchmark's keys always have twelve digits.
func plainNumber(text string) string {
	for len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9' {
		text = text[1:]
	}
	return text
}

// isNumber reports whether keys of this type are whole numbers.
func isNumber(t row.KeyType) bool {
	return len(t) == 1 && (t[0].Kind == row.Int || t[0].Kind == row.Uint)
}

// A Name is what clients call a row by: the rows of Default have two names, as a rule.
type Name struct {
	Main  string // without the name of the resource, where that is Default
	Other string // with it; "": there is none
}

// appendNamed appends the key of a row with the name of its resource.
func (o *Options) appendNamed(dst []byte, resource string, key row.Key) []byte {
	dst = append(dst, o.Prefix...)
	dst = append(dst, o.nameOf(resource)...)
	dst = append(dst, o.Separator...)
	return append(dst, key...)
}

// NameOf returns what clients call a row of a resource.
func (o *Options) NameOf(resource string, key row.Key) Name {
	named := string(o.appendNamed(nil, resource, key))
	if resource != o.Default || o.namesOther(string(key)) {
		return Name{Main: named}
	}
	return Name{Main: o.Prefix + string(key), Other: named}
}

// namesOther reports whether a key of a row of Default, without its name, is a key of
// something else.
func (o *Options) namesOther(key string) bool {
	name, _, ok := strings.Cut(key, o.Separator)
	if !ok {
		return false
	}
	if o.Queries[name] != nil {
		return true
	}
	own, served := o.resourceOf(name)
	if !served {
		return false
	}
	_, known := o.Resources.Lookup(own)
	return known
}
