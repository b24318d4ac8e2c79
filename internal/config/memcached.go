package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Memcached says how a memcached server keeps the documents of a resource.
type Memcached struct {
	Format    string   `yaml:"format,omitempty" oneof:"fields json raw bytes"`
	Fields    []string `yaml:"fields,omitempty" one:"true"`
	Separator string   `yaml:"separator,omitempty"`
	Prefix    string   `yaml:"prefix,omitempty"`
	Expire    Duration `yaml:"expire,omitempty" range:"0s..720h"`
	KeyType   string   `yaml:"key_type,omitempty" oneof:"string int uuid"`
}

// The bounds on the mapping's texts, in bytes.
const (
	maxPrefix    = 200 // of the protocol's 250 for a key
	maxSeparator = 16
)

// ofMemcached reports whether a resource is one of a memcached server's.
func (c *Config) ofMemcached(r *Resource) bool {
	s, ok := c.Sources[r.Source]
	return ok && s.Driver() == "memcached"
}

// format returns the format: that of the file, else the one that fields make
// likely.
func (m *Memcached) format() string {
	switch {
	case m.Format != "":
		return m.Format
	case len(m.Fields) > 0:
		return "fields"
	}
	return "raw"
}

// valueSpec returns what the source is asked to compile.
func (r *Resource) valueSpec() *source.ValueSpec {
	m := r.Memcached
	v := &source.ValueSpec{
		Format: source.ValueFormat(m.format()), Fields: m.Fields, Separator: m.Separator,
		Prefix: m.Prefix, Expire: time.Duration(m.Expire), KeyKind: row.Text,
	}
	switch m.KeyType {
	case "int":
		v.KeyKind = row.Int
	case "uuid":
		v.KeyKind = row.UUID
	}
	return v
}

// memcachedMethods are those of a resource that names none.
func memcachedMethods(r *Resource) []string {
	if r.Access.Write == "none" {
		return []string{"get"}
	}
	return []string{"get", "put", "patch", "delete"}
}

// memcached checks a resource of a memcached server.
func (v *validator) memcached(at string, r *Resource) {
	for key, used := range map[string]bool{
		"table": r.Table != "", "query": r.Query != "", "fields": len(r.Fields) > 0,
		"only": r.Only, "embed": len(r.Embed) > 0, "depends": len(r.Depends) > 0,
		"rls": r.RLS == "ignore",
	} {
		if used {
			v.addf(at+"."+key, "is for databases: a memcached server has values, which "+
				"memcached: {...} describes")
		}
	}
	if len(r.Key) > 1 {
		v.addf(at+".key", "has %s: a memcached key is one text", columns(len(r.Key)))
	}
	if r.Allows("post") {
		v.addf(at+".methods", "post is of no use: the key is not a member of the document, so new "+
			"ones are made by put")
	}
	v.memcachedMapping(at+".memcached", r)
}

// memcachedMapping checks the mapping of a resource of a memcached server.
func (v *validator) memcachedMapping(at string, r *Resource) {
	m := &r.Memcached
	format := m.format()
	switch {
	case v.bad[at+".format"] || v.bad[at+".fields"]:
	case format == "fields" && len(m.Fields) == 0:
		v.addf(at, "needs fields: the members in their order, such as [name, mail]")
	case len(m.Fields) > 1 && (format == "raw" || format == "bytes"):
		v.addf(at+".fields", "has %d members, the format %s has one", len(m.Fields), format)
	}
	v.distinct(at+".fields", m.Fields)
	for i, name := range m.Fields {
		v.member(fmt.Sprintf("%s.fields[%d]", at, i), name)
	}
	switch {
	case m.Separator != "" && format != "fields":
		v.addf(at+".separator", "is of no use: only the format fields has one")
	case len(m.Separator) > maxSeparator || !utf8.ValidString(m.Separator):
		v.addf(at+".separator", "want at most %d bytes of UTF-8", maxSeparator)
	}
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f }
	switch {
	case len(m.Prefix) > maxPrefix:
		v.addf(at+".prefix", "want at most %d bytes: with it a key has at most 250", maxPrefix)
	case !utf8.ValidString(m.Prefix) || strings.ContainsFunc(m.Prefix, bad):
		v.addf(at+".prefix", "want no blanks and no control characters: no memcached key has any")
	}
	switch expire := time.Duration(m.Expire); {
	case expire != expire.Truncate(time.Second):
		v.addf(at+".expire", "want whole seconds, found %s", m.Expire)
	case expire > 0 && !slices.ContainsFunc(r.Methods, writes):
		v.addf(at+".expire", "is of no use: the resource takes no writes")
	}
}
