package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	maxDepth = 8       // how deep in a document links are looked for
	maxLine  = 1 << 20 // bytes of a line; the API takes 64 KiB
)

// readJSON reads a document, or one on each line.
func readJSON(in *bufio.Reader, format Format, head []byte, yield func(Link, error) bool) {
	first, _, whole := bytes.Cut(bytes.TrimLeft(head, " \t\r\n"), []byte("\n"))
	var object map[string]any
	if whole && json.Unmarshal(first, &object) == nil &&
		fieldsOf(object, format, nil).of["url"] != "" {
		readLines(in, format, yield)
		return
	}
	w := &walk{format: format, yield: yield, unknown: make(strangers)}
	dec := json.NewDecoder(in)
	dec.UseNumber()
	for {
		var doc any
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			if w.entry == 0 {
				yield(Link{}, errors.New("the file is JSON, but nothing in it is a link: "+
					"an object with a code and a url"))
			} else if int64(w.entry) < w.total {
				yield(Link{}, &Loss{Line: w.entry, Reason: fmt.Sprintf("the file has %d of the %d "+
					"links that it speaks of: export the other pages, too", w.entry, w.total)})
			}
			return
		}
		if err != nil {
			yield(Link{}, fmt.Errorf("read the file after %d bytes: %w", dec.InputOffset(), err))
			return
		}
		if !w.value(doc, 0) {
			return
		}
	}
}

// readLines reads NDJSON. A bad line spoils nothing but itself.
func readLines(in *bufio.Reader, format Format, yield func(Link, error) bool) {
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxLine)
	line, unknown := 0, make(strangers)
	known := aliases{of: make(map[string]Link)}
	for scan.Scan() {
		line++
		text := bytes.TrimSpace(scan.Bytes())
		if len(text) == 0 {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var object map[string]any
		if err := dec.Decode(&object); err != nil {
			if !yield(Link{}, &Refusal{Line: line, Reason: "no JSON object: " + err.Error()}) {
				return
			}
			continue
		}
		f := fieldsOf(object, format, unknown)
		f.line = line
		l, err := f.link()
		if _, golink := object["Long"]; golink && known.keep(l, err) {
			continue
		}
		if !yield(l, err) {
			return
		}
	}
	for _, l := range known.waiting {
		if !yield(known.lead(l)) {
			return
		}
	}
	if err := scan.Err(); err != nil {
		yield(Link{}, fmt.Errorf("read line %d: %w", line+1, err))
	}
}

// A walk goes through a document and gives away the links that it meets. An
// object that has a target and a code is one; every other is searched, so that
// the envelopes in which APIs wrap their lists need not be known:
// {"shortUrls":{"data":[...]}} of Shlink, {"links":{"link_1":{...}}} of YOURLS,
// {"data":[...]} of Kutt.
type walk struct {
	format  Format
	yield   func(Link, error) bool
	entry   int
	total   int64 // links that there are, as the API says of which it is a page
	unknown strangers
}

// totals are where APIs say it.
var totals = []string{"totalItems", "total", "total_links"}

// value looks for links in v and reports whether to go on.
func (w *walk) value(v any, depth int) bool {
	if depth > maxDepth {
		return true
	}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if !w.value(one, depth+1) {
				return false
			}
		}
	case map[string]any:
		f := fieldsOf(v, w.format, w.unknown)
		if f.of["url"] != "" && (f.of["code"] != "" || f.of["short"] != "") {
			w.entry++
			f.line = w.entry
			return w.yield(f.link())
		}
		for _, key := range totals {
			n, err := strconv.ParseInt(text(v[key]), 10, 64)
			if err == nil {
				w.total = max(w.total, n)
			}
		}
		for _, key := range inOrder(v) {
			if !w.value(v[key], depth+1) {
				return false
			}
		}
	}
	return true
}

// inOrder returns the keys of an object with link_10 behind link_9: the order in
// which YOURLS wrote them, which decoding has lost.
func inOrder(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if len(a) != len(b) && strings.HasPrefix(a, "link_") && strings.HasPrefix(b, "link_") {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return keys
}

// fieldsOf returns the members of an object that a link has. Members of Shlink's
// meta, and the total of its visitsSummary, are taken as the object's own.
// unknown, if it is not nil, gets the members that nobody knows.
func fieldsOf(object map[string]any, format Format, unknown strangers) *fields {
	f := &fields{format: format, of: map[string]string{}}
	f.own = isOwn(format, func(name string) bool { _, ok := object[name]; return ok })
	add := func(object map[string]any) {
		for _, key := range inOrder(object) { // two keys may mean the same: the first is taken
			value := text(object[key])
			switch headings[normal(key)] {
			case "tags":
				if f.of["tags"] == "" {
					f.tags = f.tagsOf(object[key])
				}
			case "rules", "devices":
				value = documentOf(object[key])
			}
			f.put(key, value)
		}
	}
	add(object)
	if meta, ok := object["meta"].(map[string]any); ok {
		add(meta)
	}
	if visits, ok := object["visitsSummary"].(map[string]any); ok {
		f.of["clicks"] = text(visits["total"])
	}
	if forward, ok := object["forwardQuery"].(bool); ok {
		f.of["pass_query"] = strconv.FormatBool(forward)
	}
	if long, ok := object["Long"].(string); ok {
		f.golink(long)
	}
	if f.of["url"] != "" && (f.of["code"] != "" || f.of["short"] != "") { // else it is no link
		f.unknown = unknown
		f.strange(object)
	}
	return f
}

// strange notes the members of a link that nobody knows.
func (f *fields) strange(object map[string]any) {
	for _, key := range inOrder(object) {
		if headings[normal(key)] == "" {
			f.put(key, documentOf(object[key]))
		}
	}
}

// documentOf returns a JSON value as text, without what is empty in it: "" when it says
// nothing.
func documentOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, one any) bool { return documentOf(one) == "" })
		if len(v) == 0 {
			return ""
		}
	case []any:
		if len(v) == 0 {
			return ""
		}
	default:
		if value := text(v); !isNothing(value) {
			return value
		}
		return ""
	}
	doc, err := json.Marshal(v)
	if err != nil { // what was decoded can be encoded
		return fmt.Sprint(v)
	}
	return string(doc)
}

// tagsOf returns the tags that a member has: those of hotrow's list as they are, and of
// others' also such as are several in one text.
func (f *fields) tagsOf(v any) []string {
	list, isList := v.([]any)
	if !f.own || !isList {
		return strings.FieldsFunc(text(v), isTagSeparator)
	}
	tags := make([]string, len(list))
	for i, one := range list {
		tags[i] = text(one)
	}
	return tags
}

// golink reads a target of golink. What follows the code in a request is put
// behind the target, as pass_path does it, or where a template wants it, of
// which only one that has it at its very end can be taken over.
func (f *fields) golink(long string) {
	before, isTemplate := strings.CutSuffix(long, "{{.Path}}")
	f.of["pass_path"] = "true"
	switch {
	case strings.Contains(before, "{{"):
		f.refuse = "its target is a template, which hotrow has not: " + clip(long)
	case isTemplate:
		f.of["url"] = strings.TrimSuffix(before, "/")
		if !strings.HasSuffix(before, "/") {
			f.refuse = "its target is a template that puts a path into a word: " + clip(long)
		}
	}
}

// text returns a JSON value as a cell of a table would say it. An object stands
// for its member link or url: Kutt's short URL.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		parts := make([]string, 0, len(v))
		for _, one := range v {
			parts = append(parts, text(one))
		}
		return strings.Join(parts, "|")
	case map[string]any:
		for _, key := range []string{"link", "url"} {
			if s, ok := v[key].(string); ok {
				return s
			}
		}
	}
	return ""
}
