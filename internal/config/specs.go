package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A ResourceSpec is a resource in the words of the packages that serve it.
type ResourceSpec struct {
	Name           string
	Source         string
	Spec           *source.Spec
	Memory         bool         // keep documents in memory
	Formats        []row.Format // made when a document is filled
	Methods        []string     // "get", "list", "post", "put", "patch", "delete"
	Writable       bool
	RequireIfMatch bool
	MaxLimit       int
	Read, Write    string // as resource.Rule has it
	TTL            time.Duration

	OnLag string // when the feed lags: "stale", "bypass" or "fail"

	KV ResourceKV // which columns are the value of a key

	Warm      bool   // load before anybody asks
	WarmQuery string // what; "": everything
}

// Specs returns the resources in the order of their names, embedded resources
// resolved. The configuration must be complete, as Load, Discover and Validate
// leave it.
func (c *Config) Specs() ([]ResourceSpec, error) {
	v := &validator{c: c}
	v.cycles()
	if err := v.problems.err(); err != nil {
		return nil, err
	}
	specs := make([]ResourceSpec, 0, len(c.Resources))
	for _, name := range sortedKeys(c.Resources) {
		r := c.Resources[name]
		if r.OnLag == "" || r.Methods == nil {
			return nil, fmt.Errorf("BUG: resources.%s is not complete: Validate has not run", name)
		}
		spec, err := c.spec(name, r)
		if err != nil {
			return nil, err
		}
		spec.SetTimed(r.TTL > 0)
		s := ResourceSpec{
			Name: name, Source: r.Source, Spec: spec, Methods: r.Methods,
			Writable: r.Writable(), RequireIfMatch: r.RequireIfMatch,
			MaxLimit: r.Lists.MaxLimit, Read: r.Access.Read, Write: r.Access.Write,
			TTL: time.Duration(r.TTL), Memory: len(r.Tiers) > 0,
			OnLag: r.OnLag, KV: r.KV,
			Warm: r.Warm != "" && r.Warm != "off", WarmQuery: r.Warm.query(),
		}
		for _, f := range r.Formats {
			s.Formats = append(s.Formats, formats[f])
		}
		specs = append(specs, s)
	}
	return specs, nil
}

var formats = map[string]row.Format{"json": row.FormatJSON, "msgpack": row.FormatMsgPack}

// spec returns what a source is asked to compile.
func (c *Config) spec(name string, r *Resource) (*source.Spec, error) {
	s := &source.Spec{
		Name: name, Table: r.Table, Query: strings.TrimRight(r.Query, "; \t\r\n"), Key: r.Key,
		Only: r.Only, Hide: r.HideSecrets, RLSIgnore: r.RLS == "ignore",
		Filters: r.Lists.Filters, Unguarded: r.Lists.Guard == "timeout",
	}
	if c.ofMemcached(r) {
		s.Value = r.valueSpec()
	}
	if len(r.Fields) > 0 {
		s.Fields = make(map[string]source.FieldSpec, len(r.Fields))
	}
	for column, f := range r.Fields {
		s.Fields[column] = source.FieldSpec{
			Name: f.Name, OmitNull: f.OmitNull, RFC3339: f.Format == "rfc3339",
			Required: f.Required, Hide: f.Hide,
		}
	}
	// The source says so when there is no such column.
	for _, column := range []string{r.KV.Field, r.KV.Flags, r.KV.CAS} {
		if _, known := s.Fields[column]; column != "" && !known {
			if s.Fields == nil {
				s.Fields = make(map[string]source.FieldSpec)
			}
			s.Fields[column] = source.FieldSpec{}
		}
	}
	for _, d := range r.Depends {
		dep := source.Dep{Table: d.Table, Columns: d.Key}
		if d.Path != "" {
			var err error
			if dep.Path, err = source.ParsePath(d.Path); err != nil {
				return nil, fmt.Errorf("resources.%s.depends: %w", name, err)
			}
		}
		s.Depends = append(s.Depends, dep)
	}
	for _, member := range sortedKeys(r.Embed) {
		e := r.Embed[member]
		child := &source.Spec{Name: name + "." + member, Table: e.Table, Hide: r.HideSecrets}
		if e.Resource != "" {
			other, known := c.Resources[e.Resource]
			if !known {
				return nil, fmt.Errorf("resources.%s.embed.%s: no resource %q", name, member,
					e.Resource)
			}
			var err error
			if child, err = c.spec(e.Resource, other); err != nil {
				return nil, err
			}
		}
		s.Embeds = append(s.Embeds,
			source.Embed{Name: member, Spec: child, On: e.On, Order: e.Order,
				Merge: e.Children == "merge"})
	}
	return s, nil
}

// cycles refuses resources that embed themselves or each other, at any depth.
func (v *validator) cycles() {
	state := make(map[string]int) // 1: on the way, 2: done
	var trail []string
	var visit func(name string)
	visit = func(name string) {
		state[name] = 1
		trail = append(trail, name)
		r := v.c.Resources[name]
		for _, member := range sortedKeys(r.Embed) {
			child := r.Embed[member].Resource
			at := fmt.Sprintf("resources.%s.embed.%s", name, member)
			_, known := v.c.Resources[child]
			switch {
			case !known:
			case child == name:
				v.addf(at+".resource", "a resource cannot embed itself")
			case state[child] == 0:
				visit(child)
			case state[child] == 1:
				v.addf(at, "documents would never end: %s", cycleText(trail, child))
			}
		}
		trail = trail[:len(trail)-1]
		state[name] = 2
	}
	for _, name := range sortedKeys(v.c.Resources) {
		if state[name] == 0 {
			visit(name)
		}
	}
}

// cycleText writes the part of trail from child on, and child again.
func cycleText(trail []string, child string) string {
	for i, name := range trail {
		if name == child {
			trail = trail[i:]
			break
		}
	}
	return strings.Join(trail, " embeds ") + " embeds " + child
}

// Codings returns the content codings that are offered, the preferred one first.
func (h *HTTP) Codings() []row.Coding {
	list := make([]row.Coding, 0, len(h.Compression))
	for _, name := range h.Compression {
		if c, ok := row.ParseCoding(name); ok {
			list = append(list, c)
		}
	}
	return list
}
