package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/hotrow/hotrow/internal/row"
)

// A decoder fills a Config from the nodes of a file. It goes on after a
// problem, so that all are told at once.
type decoder struct {
	doc      *document
	env      environment
	problems Problems
	anchors  map[string]ast.Node
	nodes    int // visited; bounds what aliases can multiply
}

// maxKey bounds the length of a key: none that means something is longer.
const maxKey = 256

// defaulter is what a value of a map is set to before the file's keys.
type defaulter interface{ setDefaults() }

// addf adds a problem at a node.
func (d *decoder) addf(n ast.Node, path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.problems = append(d.problems, d.doc.problem(placeOf(n), path, text))
}

// resolve follows anchors and aliases to the node that holds the value. done
// is to be called when the value has been decoded: only then may an alias name
// it, so that none can hold itself.
func (d *decoder) resolve(n ast.Node, path string) (value ast.Node, done func(), ok bool) {
	done = func() {}
	for {
		switch t := n.(type) {
		case *ast.AnchorNode:
			name, inner := t.Name.GetToken().Value, t.Value
			if inner == nil {
				d.addf(n, path, "the anchor &%s has no value", name)
				return nil, done, false
			}
			before := done
			done = func() { before(); d.anchors[name] = inner }
			n = inner
		case *ast.AliasNode:
			name := t.Value.GetToken().Value
			target, known := d.anchors[name]
			if !known {
				d.addf(n, path, "no anchor &%s before this alias", name)
				return nil, done, false
			}
			n = target
		default:
			return n, done, n != nil
		}
	}
}

// decode fills v from n. It reports whether v was set without a problem.
func (d *decoder) decode(n ast.Node, v reflect.Value, path string, tag reflect.StructTag) bool {
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.addf(n, path, "more than %d values, aliases counted each time", maxNodes)
		}
		return false
	}
	n, done, ok := d.resolve(n, path)
	if !ok {
		return false
	}
	defer done()
	if _, known := d.doc.set[path]; !known || !isMapping(n) {
		d.doc.set[path] = placeOf(n) // a mapping is where its key is
	}
	switch {
	case isScalarType(v.Type()):
		return d.scalar(n, v, path, tag)
	case v.Kind() == reflect.Slice:
		return d.slice(n, v, path, tag)
	case v.Kind() == reflect.Map:
		return d.mapping(n, v, path)
	default:
		return d.structure(n, v, path)
	}
}

// pairs returns the pairs of a mapping; none for an empty value.
func (d *decoder) pairs(n ast.Node, path string) ([]*ast.MappingValueNode, bool) {
	switch t := n.(type) {
	case *ast.MappingNode:
		return t.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{t}, true
	case *ast.NullNode:
		return nil, true
	}
	d.addf(n, path, "want keys with values, found %s", describe(n))
	return nil, false
}

// eachPair calls f for each pair whose key is a plain text that no pair before
// had.
func (d *decoder) eachPair(n ast.Node, path string,
	f func(key string, pair *ast.MappingValueNode)) bool {
	pairs, ok := d.pairs(n, path)
	if !ok {
		return false
	}
	seen := make(map[string]int, len(pairs))
	for _, pair := range pairs {
		key, isText := d.key(pair, path)
		if !isText {
			ok = false
			continue
		}
		at := placeOf(pair.Key)
		if first, twice := seen[key]; twice {
			d.addf(pair.Key, join(path, key), "duplicate key: it is on line %d already", first)
			ok = false
			continue
		}
		seen[key] = at.line
		d.doc.set[join(path, key)] = at
		f(key, pair)
	}
	return ok
}

// key returns the text of a pair's key.
func (d *decoder) key(pair *ast.MappingValueNode, path string) (string, bool) {
	switch k := pair.Key.(type) {
	case *ast.MergeKeyNode:
		d.addf(k, path, "merge keys (<<) are not supported: write the keys out")
	case *ast.StringNode:
		switch {
		case k.Value == "":
			d.addf(k, path, "empty key")
		case len(k.Value) > maxKey:
			d.addf(k, path, "key of more than %d bytes", maxKey)
		default:
			return k.Value, true
		}
	case *ast.IntegerNode, *ast.BoolNode, *ast.FloatNode:
		return k.GetToken().Value, true
	default:
		d.addf(pair, path, "want a plain key, found %s", describe(pair.Key))
	}
	return "", false
}

// structure fills a struct.
func (d *decoder) structure(n ast.Node, v reflect.Value, path string) bool {
	good := true
	ok := d.eachPair(n, path, func(key string, pair *ast.MappingValueNode) {
		f, known := fieldByName(v.Type(), key)
		if !known {
			d.addf(pair.Key, join(path, key), "unknown key%s",
				row.DidYouMean(key, fieldNames(v.Type())))
			good = false
			return
		}
		good = d.decode(pair.Value, v.FieldByIndex(f.Index), join(path, key), f.Tag) && good
	})
	return ok && good
}

// mapping fills a map from names to pointers.
func (d *decoder) mapping(n ast.Node, v reflect.Value, path string) bool {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	good := true
	ok := d.eachPair(n, path, func(key string, pair *ast.MappingValueNode) {
		p := reflect.New(v.Type().Elem().Elem())
		if s, has := p.Interface().(defaulter); has {
			s.setDefaults()
		}
		good = d.decode(pair.Value, p.Elem(), join(path, key), "") && good
		v.SetMapIndex(reflect.ValueOf(key), p)
	})
	return ok && good
}

// slice fills a list, or, where the tag allows it, one element without a list.
func (d *decoder) slice(n ast.Node, v reflect.Value, path string, tag reflect.StructTag) bool {
	list := reflect.MakeSlice(v.Type(), 0, 4)
	seq, isList := n.(*ast.SequenceNode)
	_, null := n.(*ast.NullNode)
	switch {
	case isList:
		good := true
		for i, item := range seq.Values {
			e := reflect.New(v.Type().Elem()).Elem()
			good = d.decode(item, e, fmt.Sprintf("%s[%d]", path, i), tag) && good
			list = reflect.Append(list, e)
		}
		v.Set(list)
		return good
	case null:
		d.addf(n, path, "has no value: remove the key, or write []")
		return false
	case tag.Get("one") != "":
		e := reflect.New(v.Type().Elem()).Elem()
		good := d.decode(n, e, path, tag)
		v.Set(reflect.Append(list, e))
		return good
	}
	d.addf(n, path, "want a list such as [a, b], found %s", describe(n))
	return false
}

// isMapping reports whether a node holds keys with values, or nothing.
func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode, *ast.NullNode:
		return true
	}
	return false
}

// join returns the path of a key within path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// yamlName returns the name of a field in the file, "" when it has none.
func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// fieldByName returns the field of a struct that a key names.
func fieldByName(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); key != "" && yamlName(f) == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// fieldNames returns the keys that a struct knows.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name := yamlName(t.Field(i)); name != "" {
			names = append(names, name)
		}
	}
	return names
}
