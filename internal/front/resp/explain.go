package respfront

import (
	"context"
	"errors"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// explainCheck returns the error of arguments that HOTROW.EXPLAIN does not take.
func explainCheck(args [][]byte) string {
	if len(args) > 3 || len(args) == 3 && lower(args[2]) != "hash" {
		return syntaxError
	}
	return ""
}

// explain answers HOTROW.EXPLAIN with a map of what memory has of a key, and why.
func explain(ctx context.Context, c *conn, _ *Options, args [][]byte) ([]byte, eventloop.Next) {
	began, as := time.Now(), c.ReadAs
	if len(args) == 3 {
		as = kv.AsFields
	}
	e, err := c.f.store.Explain(ctx, &c.Who, args[1], as)
	var res *resource.Resource
	if e != nil {
		res = e.Resource
	}
	invalid := ""
	if errors.Is(err, row.ErrKey) {
		invalid, err = err.Error(), nil
	}
	c.LogAsk(began, "HOTROW.EXPLAIN", args[1], res, &resource.Answer{}, err)
	switch {
	case err != nil:
		return c.askError(args, res, err), eventloop.More
	case as == kv.AsFields && e.List != nil:
		return resp.AppendError(nil, wrongType), eventloop.More
	}
	m := &explained{v: c.v, Explanation: e, invalid: invalid}
	return m.reply(), eventloop.More
}

// An explained is a reply of HOTROW.EXPLAIN.
type explained struct {
	*kv.Explanation
	v       resp.Version
	invalid string // why no row can have the key
	out     []byte
}

// members are how many pairs a reply has.
const members = 17

// reply returns the map. Of a row and of a list it has the same members.
func (m *explained) reply() []byte {
	m.out = m.v.AppendMap(nil, members)
	m.text("resource", m.Resource.Name())
	switch {
	case m.List != nil:
		l := m.List
		m.heads(m.Key, l.Key, string(l.State), l.Why())
		m.copied(l.Doc, l.Rows, l.State == resource.ListHit)
		m.freshness(l.Token, l.Lag, nil)
		var coarse []string
		if l.Coarse != "" {
			coarse = []string{l.Coarse}
		}
		m.depends(l.Depends(), coarse, l.Words, l.Index())
	case m.Row != nil:
		m.row()
	default:
		m.heads("", "", "invalid", "no row can have this key: "+m.invalid)
		m.copied(nil, 0, false)
		m.freshness(resource.Token{}, 0, nil)
		m.depends(nil, nil, nil, "")
	}
	return m.out
}

// row appends what is said of a row.
func (m *explained) row() {
	r := m.Row
	m.heads(m.Key, "", string(r.State), r.Why())
	rows := 0
	if r.Doc != nil && !r.Doc.Absent() {
		rows = 1
	}
	m.copied(r.Doc, rows, r.State == resource.ListHit || r.State == resource.ListStale)
	m.freshness(r.Token, r.Lag, r.Last)
	var paths, coarse []string
	var words []resource.ListWord
	if p := r.Words; p != nil {
		coarse, words = p.Coarse(), p.Words
		for i := range p.Paths {
			paths = append(paths, p.Paths[i].Text)
		}
	}
	m.depends(paths, coarse, words, "")
}

// formatNames are the formats as kv.format has them; a column is none.
var formatNames = map[row.Format]string{
	row.FormatJSON: "json", row.FormatMsgPack: "msgpack", row.FormatCBOR: "cbor",
	row.FormatPrepared: "column",
}

// heads appends what is asked for, and the verdict. A text of "" is nil.
func (m *explained) heads(key, query, state, why string) {
	m.text("key", key)
	m.text("query", query)
	m.text("format", formatNames[m.Format])
	m.text("state", state)
	m.text("why", why)
}

// copied appends what is in memory, good or not.
func (m *explained) copied(doc *row.Document, rows int, good bool) {
	kept, size, tag := "", 0, ""
	if doc != nil {
		kept, size, tag = "outdated", doc.Size(), doc.ETag()
		if good {
			kept = "good"
		}
		if doc.Absent() {
			tag = ""
		}
	}
	m.text("kept", kept)
	m.number("rows", int64(rows), doc != nil)
	m.number("bytes", int64(size), doc != nil)
	m.text("etag", tag)
}

// freshness appends the position that answers from memory include, and when the row was
// changed last.
func (m *explained) freshness(at resource.Token, lag time.Duration, last *resource.LastChange) {
	m.text("position", positionOf(at))
	m.number("lag_ms", lag.Milliseconds(), !at.IsZero())
	known := last != nil && !last.At.IsZero()
	ago := int64(0)
	if known {
		ago = time.Since(last.At).Milliseconds()
	}
	m.number("changed_ms", ago, known)
}

// depends appends on what the answer depends.
func (m *explained) depends(
	on, coarse []string, words []resource.ListWord, index string,
) {
	m.list("depends", on)
	m.list("coarse", coarse)
	words = resource.ShownWords(words)
	m.out = resp.AppendArray(resp.AppendText(m.out, "words"), len(words))
	for i := range words {
		w := &words[i]
		m.out = m.v.AppendMap(m.out, 4)
		m.text("name", w.Name())
		m.number("clock", int64(w.Stamp), true)
		m.number("unsettled", int64(w.Marks), true)
		m.text("state", w.State())
	}
	m.text("index", index)
}

// text appends a member that is a text, nil for "".
func (m *explained) text(name, value string) {
	if m.out = resp.AppendText(m.out, name); value == "" {
		m.out = m.v.AppendNil(m.out)
		return
	}
	m.out = resp.AppendText(m.out, value)
}

// number appends a member that is a number, nil if it is not known.
func (m *explained) number(name string, n int64, known bool) {
	if m.out = resp.AppendText(m.out, name); !known {
		m.out = m.v.AppendNil(m.out)
		return
	}
	m.out = resp.AppendInt(m.out, n)
}

// list appends a member that is an array of texts.
func (m *explained) list(name string, texts []string) {
	m.out = resp.AppendArray(resp.AppendText(m.out, name), len(texts))
	for _, t := range texts {
		m.out = resp.AppendText(m.out, t)
	}
}
