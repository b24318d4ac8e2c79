package config

import (
	"reflect"
	"strings"
)

// A KeyInfo describes one key of the file, for the reference page and for the
// variables that override it.
type KeyInfo struct {
	Path  string // "sources.NAME.pool.max", "auth.tokens[].name"
	Apply string // "restart" or "reload": what makes a changed value count
	OneOf []string
	Range string
	Env   string // the variable that overrides it, or ""
	index []int  // of the field in Config, when Env is set
	tag   reflect.StructTag
}

// envSections are the sections whose keys can be overridden by HOTROW_*.
var envSections = map[string]bool{
	"http": true, "wire": true, "links": true, "ops": true, "log": true, "trace": true,
	"cache": true,
	"resp":  true, "memcache": true, "kv": true, "sql": true,
}

// Keys lists every key of the file in the order of the structs.
func Keys() []KeyInfo {
	return appendKeys(nil, reflect.TypeFor[Config](), KeyInfo{})
}

// appendKeys appends the keys of a struct.
func appendKeys(keys []KeyInfo, t reflect.Type, parent KeyInfo) []KeyInfo {
	for i := range t.NumField() {
		f := t.Field(i)
		name := yamlName(f)
		if name == "" {
			continue
		}
		k := KeyInfo{
			Path:  join(parent.Path, name),
			Apply: parent.Apply,
			OneOf: strings.Fields(f.Tag.Get("oneof")),
			Range: f.Tag.Get("range"),
			index: append(append([]int(nil), parent.index...), i),
			tag:   f.Tag,
		}
		if apply := f.Tag.Get("apply"); apply != "" {
			k.Apply = apply
		}
		ft := f.Type
		switch {
		case ft.Kind() == reflect.Map:
			k.Path += "." + f.Tag.Get("name")
			if of := ft.Elem().Elem(); isScalarType(of) {
				keys = append(keys, k)
			} else {
				keys = appendKeys(keys, of, k)
			}
			continue
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
			if f.Tag.Get("one") != "" {
				keys = append(keys, k)
			}
			k.Path += "[]"
			keys = appendKeys(keys, ft.Elem(), k)
			continue
		case !isScalarType(ft) && ft.Kind() == reflect.Struct:
			keys = appendKeys(keys, ft, k)
			continue
		}
		k.Env = variableOf(k.Path)
		keys = append(keys, k)
	}
	return keys
}

// variableOf returns the variable that overrides a key, "" when none does.
func variableOf(path string) string {
	if section, _, _ := strings.Cut(path, "."); !envSections[section] {
		return ""
	}
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// NeedsRestart returns the keys whose values differ between two configurations
// and that count only after a restart.
func NeedsRestart(old, new *Config) []string {
	var changed []string
	a, b := reflect.ValueOf(old).Elem(), reflect.ValueOf(new).Elem()
	seen := make(map[string]bool)
	for _, k := range Keys() {
		section, _, inMap := strings.Cut(k.Path, ".NAME")
		index := k.index
		if inMap || strings.Contains(k.Path, "[]") {
			index = index[:1] // the section as a whole
		}
		if k.Apply != "restart" || seen[section] {
			continue
		}
		seen[section] = true
		x, y := a.FieldByIndex(index), b.FieldByIndex(index)
		if !reflect.DeepEqual(x.Interface(), y.Interface()) {
			changed = append(changed, section)
		}
	}
	if old.HTTP.TLS.On() != new.HTTP.TLS.On() { // another certificate is no matter
		changed = append(changed, "http.tls")
	}
	return changed
}
