package config

import (
	"fmt"
	"regexp"

	"github.com/hotrow/hotrow/internal/row"
)

// A Resource is a named set of documents: the rows of a table, or of a query.
type Resource struct {
	Source         string            `yaml:"source"`
	Table          string            `yaml:"table,omitempty"`
	Query          string            `yaml:"query,omitempty"`
	Key            []string          `yaml:"key,omitempty" one:"true"`
	Fields         map[string]*Field `yaml:"fields,omitempty" name:"COLUMN"`
	Only           bool              `yaml:"only"`
	Embed          map[string]*Embed `yaml:"embed,omitempty" name:"MEMBER"`
	Depends        []Depend          `yaml:"depends,omitempty"`
	Memcached      Memcached         `yaml:"memcached,omitempty"`
	Tiers          []string          `yaml:"tiers" oneof:"memory"`
	Formats        []string          `yaml:"formats" oneof:"json msgpack"`
	RLS            string            `yaml:"rls" oneof:"refuse ignore"`
	Methods        []string          `yaml:"methods" oneof:"get list post put patch delete"`
	RequireIfMatch bool              `yaml:"require_if_match"`
	Lists          Lists             `yaml:"lists"`
	Access         Access            `yaml:"access"`
	Rows           Rows              `yaml:"rows,omitempty"`
	TTL            Duration          `yaml:"ttl" range:"0s..168h"`
	Warm           Warm              `yaml:"warm,omitempty"`
	KV             ResourceKV        `yaml:"kv,omitempty"`
	Fallback       bool              `yaml:"fallback"`
	OnLag          string            `yaml:"on_lag,omitempty" oneof:"stale bypass fail"`

	// HideSecrets leaves out columns whose names look like those of secrets.
	// Discover sets it; a file names what it hides.
	HideSecrets bool `yaml:"-"`
}

// ResourceKV says what keys and values are to the key-value protocols. All members but Name
// are names of columns; "" for all: the value is the document.
type ResourceKV struct {
	Name  string `yaml:"name,omitempty"`  // of the resource in keys; "": its own
	Field string `yaml:"field,omitempty"` // the value
	Flags string `yaml:"flags,omitempty"` // what clients of memcached keep with it
	CAS   string `yaml:"cas,omitempty"`   // another number after each change of the row
}

// Warm is what is loaded before anybody asks for it: "off", "all", or a SELECT of keys.
type Warm string

// asks is how a query begins, behind blanks, brackets and comments.
var asks = regexp.MustCompile(`(?is)^(\s|\(|--[^\n]*\n|/\*.*?\*/)*(SELECT|WITH|VALUES)\b`)

// setText reads the text.
func (w *Warm) setText(s string) error {
	if s != "off" && s != "all" && !asks.MatchString(s) {
		return fmt.Errorf("want off, all or a SELECT of keys, found %q%s", s,
			row.DidYouMean(s, []string{"off", "all"}))
	}
	*w = Warm(s)
	return nil
}

// query returns the SELECT of the keys, "" for all.
func (w Warm) query() string {
	if w == "all" || w == "off" {
		return ""
	}
	return string(w)
}

// A Field says how one column appears in documents.
type Field struct {
	Name     string `yaml:"name,omitempty"`
	OmitNull bool   `yaml:"omit_null,omitempty"`
	Format   string `yaml:"format,omitempty" oneof:"rfc3339"`
	Required bool   `yaml:"required,omitempty"`
	Hide     bool   `yaml:"hide,omitempty"`
}

// An Embed puts child rows into the document of their parent.
type Embed struct {
	Resource string   `yaml:"resource,omitempty"`
	Table    string   `yaml:"table,omitempty"`
	On       []string `yaml:"on" one:"true"`
	Order    []string `yaml:"order,omitempty" one:"true"`

	// Children says what a write does with rows that its body does not list; unset:
	// replace.
	Children string `yaml:"children,omitempty" oneof:"replace merge"`
}

// A Depend names a table whose rows feed the documents of a query. Without Key each change
// of the table counts for every document.
type Depend struct {
	Table string   `yaml:"table,omitempty"`
	Key   []string `yaml:"key,omitempty" one:"true"`

	// Path leads from rows to documents over several tables: see source.ParsePath.
	Path string `yaml:"path,omitempty"`
}

// Lists bounds lists of documents.
type Lists struct {
	MaxLimit int `yaml:"max_limit" range:"1..10000"`

	// Filters are columns of which lists are filtered and ordered whatever the indexes.
	Filters []string `yaml:"filters,omitempty"`

	// Guard says what becomes of a list that no index answers.
	Guard string `yaml:"guard" oneof:"refuse timeout"`
}

// Access says who may read and write: public, none, role:NAME, or a list of roles.
type Access struct {
	Read  string `yaml:"read" words:"true"`
	Write string `yaml:"write" words:"true"`
}

// DefaultResource returns a resource with every default and neither table nor
// query.
func DefaultResource() *Resource {
	r := new(Resource)
	r.setDefaults()
	return r
}

// setDefaults makes r what an empty resource is. Source and Methods depend on
// the rest of the file: complete sets them.
func (r *Resource) setDefaults() {
	*r = Resource{
		Tiers:   []string{"memory"},
		Formats: []string{"json"},
		RLS:     "refuse",
		Lists:   Lists{MaxLimit: 1000, Guard: "refuse"},
		Access:  Access{Read: "public", Write: "none"},

		Fallback: true,
	}
}

// writes reports whether a method changes documents.
func writes(method string) bool {
	switch method {
	case "post", "put", "patch", "delete":
		return true
	}
	return false
}

// Writable reports whether any method that changes documents is served.
func (r *Resource) Writable() bool {
	for _, m := range r.Methods {
		if writes(m) {
			return true
		}
	}
	return false
}

// Allows reports whether a method ("get", "put", ...) is served.
func (r *Resource) Allows(method string) bool {
	for _, m := range r.Methods {
		if m == method {
			return true
		}
	}
	return false
}

// complete fills in what depends on the rest of the file.
func (c *Config) complete() {
	for _, r := range c.Resources {
		if r.Source == "" {
			r.Source = c.defaultSource()
		}
		c.completeStalePolicy(r)
		if r.Methods != nil {
			continue
		}
		switch {
		case c.ofMemcached(r):
			r.Methods = memcachedMethods(r)
		case r.Query != "":
			r.Methods = []string{"get"}
		case r.Access.Write == "none":
			r.Methods = []string{"get", "list"}
		default:
			r.Methods = []string{"get", "list", "post", "put", "patch", "delete"}
		}
	}
	c.completeStore()
	c.completeLinks() // last: a source of its own is nobody's default
}

// completeStalePolicy takes from the feed of the source what a resource does not say
// about outages.
func (c *Config) completeStalePolicy(r *Resource) {
	s, ok := c.Sources[r.Source]
	if !ok {
		return // validation says so
	}
	if r.OnLag == "" {
		r.OnLag = s.Feed.OnLag
	}
}

// defaultSource returns the source of a resource that names none: the only
// one, else main.
func (c *Config) defaultSource() string {
	if len(c.Sources) == 1 {
		for name := range c.Sources {
			return name
		}
	}
	if _, ok := c.Sources["main"]; ok {
		return "main"
	}
	return ""
}
