package memcached

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// notJSON is the error of a value that is not what the configuration says.
func notJSON(what string) error {
	return &source.Error{Class: source.Internal, Message: "the value is not " + what +
		" in UTF-8: memcached.format must say what is stored"}
}

// decodeJSON reads a value as JSON. Members that no field names are left out.
func (c *codec) decodeJSON(value []byte) (row.Values, error) {
	if !c.object {
		if !utf8.Valid(value) || !json.Valid(value) {
			return nil, notJSON("JSON")
		}
		return row.Values{row.TextValue(row.JSON, strings.TrimSpace(string(value)))}, nil
	}
	members, err := readObject(value)
	if err != nil {
		return nil, err
	}
	values := make(row.Values, len(c.shape.Fields))
	for i := range c.shape.Fields {
		text, ok := members[c.shape.Fields[i].Name]
		if ok && string(text) != "null" {
			values[i] = row.TextValue(row.JSON, string(text))
		}
	}
	return values, nil
}

// readObject reads the members of an object.
func readObject(value []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if !utf8.Valid(value) || json.Unmarshal(value, &members) != nil || members == nil {
		return nil, notJSON("a JSON object")
	}
	return members, nil
}

// encodeObject writes an object: the members of the document in their order,
// then, in the order of their names, those that before has besides. A null is a
// member that is not there (RFC 7396).
func (c *codec) encodeObject(before []byte, in *row.Input) ([]byte, error) {
	members := make(map[string]json.RawMessage)
	if before != nil {
		var err error
		if members, err = readObject(before); err != nil {
			return nil, err
		}
	}
	value := []byte{'{'}
	add := func(name string, text json.RawMessage) error {
		quoted, err := json.Marshal(name)
		if err != nil {
			return err
		}
		if len(value) > 1 {
			value = append(value, ',')
		}
		value = append(append(append(value, quoted...), ':'), text...)
		return nil
	}
	for i := range c.shape.Fields {
		name := c.shape.Fields[i].Name
		text := members[name]
		delete(members, name)
		if in.Present[i] {
			text = json.RawMessage(in.Values[i].Text())
		}
		if len(text) == 0 {
			continue
		}
		if err := add(name, text); err != nil {
			return nil, err
		}
	}
	rest := make([]string, 0, len(members))
	for name := range members {
		rest = append(rest, name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		if err := add(name, members[name]); err != nil {
			return nil, err
		}
	}
	return append(value, '}'), nil
}
