package config

import (
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// RESP is the listener of the protocol of Redis.
type RESP struct {
	Listen Listener `yaml:"listen" apply:"restart"`
	TLS    bool     `yaml:"tls" apply:"restart"` // with the certificate of http.tls
}

// Memcache is the listener of the protocol of memcached.
type Memcache struct {
	Listen Listener `yaml:"listen" apply:"restart"`
	TLS    bool     `yaml:"tls" apply:"restart"` // with the certificate of http.tls
}

// KV says what keys mean to the key-value protocols, and how many clients each may have.
type KV struct {
	MaxClients int `yaml:"max_clients" range:"1..1000000" apply:"reload"`

	Prefix    string `yaml:"prefix" empty:"plain" apply:"reload"`
	Separator string `yaml:"separator" apply:"reload"`
	Default   string `yaml:"default" empty:"plain" apply:"reload"` // of keys that name no resource
	Format    string `yaml:"format" oneof:"json msgpack cbor" apply:"reload"`

	// Queries are lists by name: a key NAME:VALUE is the list with VALUE in its path.
	Queries map[string]*KVQuery `yaml:"queries,omitempty" name:"NAME" apply:"reload"`

	// Store is the database of items that clients of memcached set, a URL such as
	// sqlite:kv.db; "": there is none. Access says who may read and write them.
	Store  Secret `yaml:"store,omitempty" empty:"plain" apply:"restart"`
	Access Access `yaml:"access" apply:"reload"`

	// Expire says what becomes of a write with a time: as is usual for the protocol (Redis
	// refuses, memcached ignores), or one of these for both.
	Expire string `yaml:"expire" oneof:"usual refuse ignore" apply:"reload"`

	// Stale says whether an answer that cannot say so may be stale: as on_lag, max_stale and
	// stale_if_error of its resource have it.
	Stale string `yaml:"stale" oneof:"never allow" apply:"reload"`
}

// A KVQuery is the path of a list, with {} where the value of a key goes:
// /users?email=eq.{}.
type KVQuery string

// valuePlace is where a value may go: the whole of what a filter compares with.
var valuePlace = regexp.MustCompile(`[?&][^=&]+=(not\.)?[a-z]+\.\{\}(&|$)`)

// Parts returns the resource, and what stands in its query before and behind the value.
func (q KVQuery) Parts() (resource, before, after string, err error) {
	path, found := strings.CutPrefix(string(q), "/")
	resource, raw, asks := strings.Cut(path, "?")
	before, after, _ = strings.Cut(raw, "{}")
	name, bad := url.PathUnescape(resource)
	switch {
	case bad != nil:
		err = bad
	case !found || !asks || resource == "" || strings.Contains(resource, "/"):
		err = errors.New("wants the path of a list, such as /users?email=eq.{}")
	case strings.Count(string(q), "{}") != 1 || !valuePlace.MatchString(string(q)):
		err = errors.New("wants {} once, as what a filter compares with: column=eq.{}")
	case strings.HasPrefix(raw, "format=") || strings.Contains(raw, "&format="):
		err = errors.New("has a format: kv.format says which lists have")
	}
	return name, before, after, err
}

func defaultKV() KV {
	return KV{MaxClients: 10_000, Separator: ":", Format: "json", Expire: "usual", Stale: "never",
		Access: Access{Read: "public", Write: "public"}}
}

// StoreSource is the name of the source that kv.store makes, and of its resource.
const StoreSource = "kv"

// StoresItems reports whether there is a database of items, in the source and the
// resource called kv.
func (c *Config) StoresItems() bool { return c.KV.Store.Reveal() != "" }

// completeStore gives the database of items to the sources.
func (c *Config) completeStore() {
	if !c.StoresItems() || c.Sources[StoreSource] != nil {
		return
	}
	s := DefaultSource()
	s.URL = c.KV.Store
	if c.Sources == nil {
		c.Sources = make(map[string]*Source)
	}
	c.Sources[StoreSource] = s
}

// store checks the database of items.
func (v *validator) store() {
	if !v.c.StoresItems() {
		return
	}
	if s := v.c.Sources[StoreSource]; s.URL != v.c.KV.Store {
		v.addf("sources."+StoreSource, "kv.store makes a source of this name: rename yours")
	} else if s.Driver() != "sqlite" {
		v.addf("kv.store", "wants a file of SQLite, such as sqlite:kv.db")
	}
	if v.c.Resources[StoreSource] != nil {
		v.addf("resources."+StoreSource, "kv.store makes a resource of this name: rename yours")
	}
	v.rule("kv.access.read", v.c.KV.Access.Read)
	v.rule("kv.access.write", v.c.KV.Access.Write)
}

// keyValue checks the sections of the key-value protocols.
func (v *validator) keyValue() {
	if v.c.RESP.TLS && !v.c.HTTP.TLS.On() {
		v.addf("resp.tls", "needs the certificate of http.tls: set %s and %s", pathCert, pathKey)
	}
	if v.c.Memcache.TLS && !v.c.HTTP.TLS.On() {
		v.addf("memcache.tls", "needs the certificate of http.tls: set %s and %s",
			pathCert, pathKey)
	}
	k := &v.c.KV
	if n := len(k.Separator); n < 1 || n > 4 {
		v.addf("kv.separator", "has 1 to 4 bytes, found %q", k.Separator)
		return
	}
	if !strings.ContainsFunc(k.Separator, func(r rune) bool { return r > ' ' && r != 0x7f }) {
		v.addf("kv.separator", "is a blank: keys of lines of text cannot have it")
	}
	v.store()
	v.kvQueries()
	v.kvNames()
	_, served := v.c.Resources[k.Default]
	served = served || k.Default == StoreSource && v.c.StoresItems()
	if k.Default != "" && !served && len(v.c.Resources) > 0 {
		v.addf("kv.default", "there is no resource %q", k.Default)
	}
}

// kvNames checks the names that keys have for resources.
func (v *validator) kvNames() {
	taken := make(map[string]string, len(v.c.Resources))
	for name, r := range v.c.Resources {
		if r != nil && r.KV.Name == "" {
			taken[name] = name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.c.Resources)) {
		r := v.c.Resources[name]
		if r == nil || r.KV.Name == "" {
			continue
		}
		at, n := "resources."+name+".kv.name", r.KV.Name
		switch {
		case strings.Contains(n, v.c.KV.Separator):
			v.addf(at, "has the separator of keys in it: %q", v.c.KV.Separator)
		case strings.ContainsFunc(n, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			v.addf(at, "has a blank: keys of lines of text cannot have it")
		case v.c.KV.Queries[n] != nil:
			v.addf(at, "kv.queries has this name: rename one")
		case taken[n] != "":
			v.addf(at, "keys of resource %s have this name: rename one", taken[n])
		default:
			taken[n] = name
		}
	}
}

// kvQueries checks the names of keys that ask for lists.
func (v *validator) kvQueries() {
	for _, name := range slices.Sorted(maps.Keys(v.c.KV.Queries)) {
		at := "kv.queries." + name
		resource, _, _, err := v.c.KV.Queries[name].Parts()
		switch {
		case err != nil:
			v.addf(at, "%v", err)
		case strings.Contains(name, v.c.KV.Separator):
			v.addf(at, "has the separator of keys in its name: %q", v.c.KV.Separator)
		case v.c.Resources[name] != nil:
			v.addf(at, "there is a resource of this name, whose rows the keys are: rename one")
		case resource == StoreSource && v.c.StoresItems():
			v.addf(at, "kv.store has no lists")
		case len(v.c.Resources) > 0 && v.c.Resources[resource] == nil:
			v.addf(at, "there is no resource %q", resource)
		}
	}
}

// resourceKV checks which columns are the value of a key.
func (v *validator) resourceKV(at string, r *Resource) {
	k := r.KV
	k.Name = "" // any resource may have one
	if k == (ResourceKV{}) {
		return
	}
	if v.c.ofMemcached(r) {
		v.addf(at+".kv", "is for resources of a SQL database")
		return
	}
	for _, c := range []struct{ name, column string }{
		{"field", k.Field}, {"flags", k.Flags}, {"cas", k.CAS},
	} {
		here, f := at+".kv."+c.name, r.Fields[c.column]
		switch {
		case c.column == "":
		case k.Field == "":
			v.addf(here, "needs kv.field: a document has no such column")
		case f != nil && f.Hide:
			v.addf(here, "column %s is hidden: fields.%s.hide", c.column, c.column)
		case f == nil && r.Only:
			v.addf(here, "column %s is left out: fields does not have it, and only is set",
				c.column)
		}
	}
}
