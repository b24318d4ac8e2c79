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
	format   Format
}

// name names the call in errors.
func (q *listCall) name() string { return "list " + q.resource }

// list reads a page.
func (r *httpRemote) list(ctx context.Context, q *listCall) (Page, error) {
	op := "list"
	query := url.Values{}
	if q.options.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.options.Limit))
	}
	if q.options.After != "" {
		query.Set("after", q.options.After)
	}
	address := r.base + "/" + url.PathEscape(q.resource)
	if len(query) > 0 {
		address += "?" + query.Encode()
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
	page := Page{Next: nextAfter(x.head.Values("Link"))}
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

// nextAfter returns the after= of the link to the next page (RFC 8288), "" when
// there is none.
func nextAfter(links []string) string {
	for _, line := range links {
		for link := range strings.SplitSeq(line, ", ") {
			target, params, ok := strings.Cut(link, ">")
			if !ok || !strings.Contains(params, `rel="next"`) {
				continue
			}
			u, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(target), "<"))
			if err == nil {
				return u.Query().Get("after")
			}
		}
	}
	return ""
}
