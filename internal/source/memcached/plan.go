package memcached

import (
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// maxKey is the longest key of the protocol, in bytes, and maxPrefix the longest
// prefix: it leaves room for the text of any integer or UUID.
const (
	maxKey    = 250
	maxPrefix = 200
)

// keysPerGet is how many of the longest keys one get has at least: the time for
// an answer is given to so many.
const keysPerGet = maxCommand / (maxKey + 1)

// defaultKey is what the key is called when the configuration does not say.
const defaultKey = "key"

// A plan is the resource of one prefix. It implements source.Plan.
type plan struct {
	src    *Source
	name   string
	spec   source.ValueSpec
	keys   row.KeyType
	values codec
}

// Compile checks spec. It asks the server nothing, which has no catalogue.
func (s *Source) Compile(_ context.Context, spec *source.Spec) (source.Plan, error) {
	v := spec.Value
	switch {
	case v == nil || spec.Table != "" || spec.Query != "":
		return nil, errNoTables("has no tables")
	case len(spec.Fields) > 0 || spec.Only || len(spec.Embeds) > 0 || len(spec.Depends) > 0:
		return nil, fmt.Errorf("resource %s: a memcached value has no columns: name its "+
			"members in memcached.fields", spec.Name)
	case len(spec.Key) > 1:
		return nil, fmt.Errorf("resource %s: a memcached key is one text", spec.Name)
	case len(v.Prefix) > maxPrefix:
		return nil, fmt.Errorf("resource %s: the prefix has more than %d bytes", spec.Name,
			maxPrefix)
	}
	p := &plan{src: s, name: spec.Name, spec: *v}
	part := row.KeyPart{Column: defaultKey, Kind: v.KeyKind}
	if len(spec.Key) == 1 {
		part.Column = spec.Key[0]
	}
	switch v.KeyKind {
	case row.Text, row.Null:
		part.Kind, part.Word = row.Text, maxKey-len(v.Prefix)
	case row.Int, row.UUID:
	default:
		return nil, fmt.Errorf("resource %s: a memcached key is a text, an integer or a UUID",
			spec.Name)
	}
	p.keys = row.KeyType{part}
	if !utf8.ValidString(v.Prefix) || v.Prefix != "" && !isWord(v.Prefix) {
		return nil, fmt.Errorf("resource %s: the prefix %s has a blank or a control character "+
			"in it, which no memcached key has", spec.Name, strconv.Quote(v.Prefix))
	}
	var err error
	if p.values, err = newCodec(v); err != nil {
		return nil, fmt.Errorf("resource %s: %w", spec.Name, err)
	}
	return p, nil
}

// isWord reports whether a text can stand in a key.
func isWord(s string) bool {
	_, err := row.KeyType{{Kind: row.Text, Word: maxKey}}.Parse(row.Key(s))
	return err == nil
}

// Shape returns how documents are encoded.
func (p *plan) Shape() *row.Shape { return p.values.shape }

// KeyType returns the type of the key.
func (p *plan) KeyType() row.KeyType { return p.keys }

// Table returns nil: a server of keys and values knows no lists.
func (p *plan) Table() *query.Table { return nil }

// ByItself implements source.Plan.
func (p *plan) ByItself() string { return "" }

// Deps returns the values of the prefix, as if they were a table: a write by one
// resource then drops what another one with the same prefix has kept.
func (p *plan) Deps() []source.Dep {
	return []source.Dep{{
		Table: p.table(), Columns: []string{p.keys[0].Column}, KnowsOld: true,
	}}
}

// table returns what changes call the values of the plan's prefix.
func (p *plan) table() string { return p.spec.Prefix + "*" }

// SQL returns the command of Load.
func (p *plan) SQL() []string {
	return []string{"get " + p.spec.Prefix + "{" + p.keys[0].Column + "}"}
}

// List returns an error: the server keeps no order and tells nobody its keys.
func (p *plan) List(context.Context, *row.Key, int) ([]source.Loaded, error) {
	return nil, &source.Error{Class: source.Invalid, Message: "memcached cannot list its keys",
		Hint: fmt.Sprintf("name some: ?%s=in.(KEY,KEY)", p.keys[0].Column)}
}

// Select is List of a query.
func (p *plan) Select(ctx context.Context, _ *query.Query) (*source.Selected, error) {
	_, err := p.List(ctx, nil, 0)
	return nil, err
}

// parse returns the canonical key and the server's for it. Errors wrap
// row.ErrKey.
func (p *plan) parse(asked row.Key) (key row.Key, onServer string, err error) {
	if key, err = p.keys.Parse(asked); err != nil {
		return "", "", fmt.Errorf("%s: %w", p.name, err)
	}
	return key, p.spec.Prefix + string(key), nil
}

// Load reads the values of keys with as few commands as their length allows,
// each key once.
func (p *plan) Load(ctx context.Context, keys []row.Key) ([]source.Loaded, error) {
	loaded := make([]source.Loaded, len(keys))
	asked := make([]string, len(keys))
	var unique []string
	first := make(map[string]bool, len(keys))
	for i, k := range keys {
		key, onServer, err := p.parse(k)
		if err != nil {
			return nil, fmt.Errorf("load %w", err)
		}
		loaded[i] = source.Loaded{Asked: k, Key: key}
		asked[i] = onServer
		if !first[onServer] {
			first[onServer] = true
			unique = append(unique, onServer)
		}
	}
	found := make(map[string][]byte, len(unique))
	err := p.src.use(ctx, 1+len(unique)/keysPerGet, func(c *conn) error {
		clear(found)
		return c.get(unique, func(it item) { found[it.key] = it.value })
	}, func() bool { return true })
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", p.name, err)
	}
	for i := range loaded {
		value, ok := found[asked[i]]
		if !ok {
			loaded[i].Key = ""
			continue
		}
		if loaded[i].Values, err = p.values.decode(value); err != nil {
			return nil, fmt.Errorf("load %s/%s: %w", p.name, loaded[i].Key, err)
		}
	}
	return loaded, nil
}
