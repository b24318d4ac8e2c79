package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/row"
)

// bulkLines is how many lines become one transaction.
const bulkLines = 200

// A bulkAnswer is what became of one line.
type bulkAnswer struct {
	Line     int    `json:"line"`
	Status   int    `json:"status"`
	Code     string `json:"code,omitempty"`
	ShortURL string `json:"short_url,omitempty"`
	Type     string `json:"type,omitempty"`
	Title    string `json:"title,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Field    string `json:"field,omitempty"`
}

// bulk makes a link of each line of the body. Answers go out while lines still
// come in; one that is refused leaves the others alone.
func (c *call) bulk() error {
	if err := c.mayMake(0); err != nil {
		return err
	}
	rc := http.NewResponseController(c.w)
	_ = rc.EnableFullDuplex() // HTTP/2 needs no leave
	defer c.drain()
	lines := bufio.NewScanner(c.r.Body)
	lines.Buffer(make([]byte, 0, 4096), int(c.o.MaxBody))
	c.w.Header().Set("Content-Type", typeNDJSON)
	b := &bulk{c: c, out: json.NewEncoder(c.w)}
	c.extend()
	for lines.Scan() {
		b.line++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		b.add(text)
		if len(b.answers) < bulkLines {
			continue
		}
		if err := b.store(); err != nil {
			return err
		}
		_ = rc.Flush() // a writer that has nothing to flush keeps what it got
		c.extend()
	}
	if err := b.store(); err != nil {
		return err
	}
	if err := lines.Err(); err != nil {
		return b.end(err)
	}
	c.sent = true
	return nil
}

// maxDrained is how much of a body is read for nothing.
const maxDrained = 16 << 20

// drain reads what is left of the body. Where answers go out while a body comes
// in, net/http takes what nobody has read for the next request; a body that is
// too long for that ends with its connection.
func (c *call) drain() {
	n, err := io.Copy(io.Discard, io.LimitReader(c.r.Body, maxDrained))
	if err != nil || n == maxDrained {
		panic(http.ErrAbortHandler)
	}
}

// A bulk is the lines that are not stored yet.
type bulk struct {
	c       *call
	out     *json.Encoder
	line    int
	answers []bulkAnswer
	drafts  []*links.Draft
	at      []int // which answer each draft is to have
}

// add reads one line.
func (b *bulk) add(text []byte) {
	d, err := parseDraft(text, row.FormatJSON)
	if err == nil {
		err = b.c.limit(1)
	}
	b.answers = append(b.answers, bulkAnswer{Line: b.line})
	if err != nil {
		b.refuse(len(b.answers)-1, err)
		return
	}
	b.drafts, b.at = append(b.drafts, d), append(b.at, len(b.answers)-1)
}

// refuse makes answer i the problem that err is.
func (b *bulk) refuse(i int, err error) {
	doc := problemOf(err).document()
	a := &b.answers[i]
	a.Status, a.Type, a.Title, a.Detail, a.Field = doc.Status, doc.Type, doc.Title, doc.Detail,
		doc.Field
}

// store makes the links of the lines at hand, and answers them in their order.
func (b *bulk) store() error {
	results, err := b.c.o.Links.CreateAll(b.c.r.Context(), b.drafts, b.c.who, true)
	if err != nil && !b.c.sent {
		return err
	}
	for i, at := range b.at {
		switch {
		case err != nil:
			b.refuse(at, err)
		case results[i].Err != nil:
			b.refuse(at, results[i].Err)
			b.answers[at].Code = b.drafts[i].Code
		default:
			a, l := &b.answers[at], &results[i].Link
			a.Status, a.Code, a.ShortURL = http.StatusCreated, l.Code,
				b.c.o.Links.Rules.ShortURL(l.Code)
			if !results[i].Made {
				a.Status = http.StatusOK
			}
		}
	}
	for i := range b.answers {
		b.c.sent = true
		if err := b.out.Encode(&b.answers[i]); err != nil {
			return err
		}
	}
	b.answers, b.drafts, b.at = b.answers[:0], b.drafts[:0], b.at[:0]
	return nil
}

// end answers a line that cannot be read to its end; nothing after it is.
func (b *bulk) end(err error) error {
	b.line++
	p := problem{kind: kindBadJSON, detail: "the body ended too early"}
	if errors.Is(err, bufio.ErrTooLong) {
		p = problem{kind: kindTooLarge, detail: "the line is too long; nothing after it was read"}
	}
	if !b.c.sent {
		return p
	}
	b.answers = append(b.answers, bulkAnswer{Line: b.line})
	b.refuse(0, p)
	return b.out.Encode(&b.answers[0])
}
