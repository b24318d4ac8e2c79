package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"github.com/vmihailenco/msgpack/v5"
)

// A listCall is one list as it is asked for.
type listCall struct {
	resource string
	options  ListOptions
	query    string // "": by options
	format   Format
}

// name names the call in errors.
func (q *listCall) name() string { return "list " + q.resource }

// text returns the query of the call's URL.
func (q *listCall) text() string {
	if q.query != "" {
		return q.query
	}
	values := url.Values{}
	if q.options.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.options.Limit))
	}
	if q.options.After != "" {
		values.Set("after", q.options.After)
	}
	return values.Encode()
}

// list reads a page.
func (r *httpRemote) list(ctx context.Context, q *listCall) (Page, error) {
	op := "list"
	address := r.base + "/" + url.PathEscape(q.resource)
	if query := q.text(); query != "" {
		address += "?" + query
	}
	head := http.Header{"Accept": {mediaTypes[q.format]}}
	x, err := r.do(ctx, op, http.MethodGet, address, head, nil)
	if err != nil {
		return Page{}, err
	}
	bodies, err := splitArray(q.format, x.body)
	if err != nil {
		return Page{}, &Error{Op: op, Kind: ErrInternal, Err: err}
	}
	page := Page{}
	if next := nextQuery(x.head.Values("Link")); q.query != "" {
		page.Next = next
	} else if values, err := url.ParseQuery(next); err == nil {
		page.Next = values.Get("after")
	}
	whole := document("", q.format, x)
	for _, body := range bodies {
		d := whole
		d.ETag, d.Body = "", body
		page.Documents = append(page.Documents, d)
	}
	return page, nil
}

// splitArray returns the documents of an array, each as it is encoded.
func splitArray(f Format, body []byte) (items [][]byte, err error) {
	switch f {
	case JSON:
		var raw []json.RawMessage
		err = json.Unmarshal(body, &raw)
		for _, one := range raw {
			items = append(items, one)
		}
	case MessagePack:
		var raw []msgpack.RawMessage
		err = msgpack.NewDecoder(bytes.NewReader(body)).Decode(&raw)
		for _, one := range raw {
			items = append(items, one)
		}
	case CBOR:
		var raw []cbor.RawMessage
		err = cbor.Unmarshal(body, &raw)
		for _, one := range raw {
			items = append(items, one)
		}
	default:
		err = errFormat(f)
	}
	if err != nil {
		return nil, fmt.Errorf("read a list as %s: %w", f, err)
	}
	return items, nil
}

// nextQuery returns the query of the link to the next page (RFC 8288), "" when there is
// none.
func nextQuery(links []string) string {
	for _, line := range links {
		for link := range strings.SplitSeq(line, ", ") {
			target, params, ok := strings.Cut(link, ">")
			if !ok || !strings.Contains(params, `rel="next"`) {
				continue
			}
			u, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(target), "<"))
			if err == nil {
				return u.RawQuery
			}
		}
	}
	return ""
}
