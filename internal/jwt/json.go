package jwt

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// errJSON is the error of a text that is no JSON object as this package takes them.
var errJSON = errors.New("want a JSON object without a member twice")

// parseObject reads a JSON object: its values are string, json.Number, bool, nil,
// map[string]any and []any. It refuses what another reader could read otherwise: a member
// that is there twice at any depth, bytes that are no UTF-8, and anything behind the object.
func parseObject(b []byte) (map[string]any, error) {
	if !utf8.Valid(b) || !json.Valid(b) {
		return nil, errJSON
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := parseValue(d, maxDepth)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, errJSON
	}
	return o, nil
}

// parseValue reads one value, at most depth values deep.
func parseValue(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, nests := t.(json.Delim)
	switch {
	case !nests:
		return t, nil
	case depth == 0:
		return nil, errJSON
	case open == '[':
		list := []any{}
		for d.More() {
			v, err := parseValue(d, depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	o := make(map[string]any)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		text, ok := name.(string)
		if _, twice := o[text]; twice || !ok {
			return nil, errJSON
		}
		if o[text], err = parseValue(d, depth-1); err != nil {
			return nil, err
		}
	}
	_, err = d.Token()
	return o, err
}
