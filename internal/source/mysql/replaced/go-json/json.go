// Package json stands in for github.com/goccy/go-json, of which the reader of binary logs
// (go-mysql) calls one function, to make JSON of a column in MySQL's binary form. The library
// has a virtual machine for speed, a megabyte of program; the standard library's does.
package json

import "encoding/json"

// Marshal returns the JSON of v.
func Marshal(v any) ([]byte, error) { return json.Marshal(v) }
