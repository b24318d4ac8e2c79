package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

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
	ID       int64  `json:"id,omitempty"`    // only with keep
	Owner    string `json:"owner,omitempty"` // of the link
	Type     string `json:"type,omitempty"`
	Title    string `json:"title,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Field    string `json:"field,omitempty"`
}

// bulk makes a link of each line of the body. Answers go out while lines still
// come in; one that is refused leaves the others alone.
//
// With dry_run=1 nothing is made, and each line is answered as it would be.
func (c *call) bulk() error {
	if err := c.mayMake(0); err != nil {
		return err
	}
	dry, keep := c.form.Get("dry_run") == "1", c.form.Get("keep") == "1"
	if keep { // owners are whom the file names
		if err := c.may(links.RoleAdmin, false); err != nil {
			return err
		}
	}
	rc := http.NewResponseController(c.w)
	_ = rc.EnableFullDuplex() // HTTP/2 needs no leave
	defer c.drain()
	lines := bufio.NewScanner(c.r.Body)
	lines.Buffer(make([]byte, 0, 4096), int(c.o.MaxBody))
	c.w.Header().Set("Content-Type", typeNDJSON)
	b := &bulk{c: c, out: json.NewEncoder(c.w), dry: dry, keep: keep, codes: make(map[string]int)}
	b.owners = b.mayName()
	c.extend()
	for lines.Scan() {
		b.line++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if err := b.add(text); err != nil {
			return err
		}
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

	dry    bool           // nothing is made
	keep   bool           // numbers and owners are those of the lines
	owners bool           // who sends the lines may name owners
	codes  map[string]int // of a dry run: the lines that would have taken them
}

// add reads one line.
func (b *bulk) add(text []byte) error {
	d, err := parseDraft(text, row.FormatJSON)
	if err == nil {
		err = b.c.o.Links.Check(d, b.making())
	}
	if err == nil && !b.dry {
		err = b.c.limit(b.c.h.rate, 1)
		if err != nil && len(b.drafts) > 0 { // those that are refused take nothing
			if err := b.store(); err != nil {
				return err
			}
			err = b.c.limit(b.c.h.rate, 1)
		}
	}
	b.answers = append(b.answers, bulkAnswer{Line: b.line})
	if err != nil {
		b.refuse(len(b.answers)-1, err)
		if d != nil {
			b.answers[len(b.answers)-1].Code = d.Code
		}
		return nil
	}
	b.drafts, b.at = append(b.drafts, d), append(b.at, len(b.answers)-1)
	return nil
}

// making is how the links are made.
func (b *bulk) making() links.Making {
	return links.Making{Who: b.c.who, Restore: true, Dry: b.dry, Keep: b.keep,
		Owners: b.owners}
}

// mayName reports whether who asks may say whose a link is: an admin.
func (b *bulk) mayName() bool {
	who, local := b.c.who, b.c.local
	defer func() { b.c.who, b.c.local = who, local }()
	return b.c.may(links.RoleAdmin, false) == nil
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
	results, err := b.c.o.Links.CreateAll(b.c.r.Context(), b.drafts, b.making())
	if err != nil && !b.c.sent {
		b.spare(len(b.drafts))
		return err
	}
	for i, at := range b.at {
		if err == nil {
			b.result(&results[i], at)
		} else {
			b.refuse(at, err)
		}
		if a := &b.answers[at]; a.Status >= http.StatusBadRequest {
			a.Code = b.drafts[i].Code
			b.spare(1)
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

// result makes answer at what became of a draft.
func (b *bulk) result(r *links.Result, at int) {
	a, l := &b.answers[at], &r.Link
	if r.Err != nil {
		b.refuse(at, r.Err)
		return
	}
	if line, taken := b.codes[l.Code]; taken && r.Made {
		b.refuse(at, problem{kind: kindTaken, field: "code",
			detail: "line " + strconv.Itoa(line) + " has this code already"})
		return
	}
	if b.dry {
		// Only now: who checks a file wants to know of each line what is wrong with it.
		if err := b.c.limit(b.c.h.dryRate, 1); err != nil {
			b.refuse(at, err)
			return
		}
		b.codes[l.Code] = a.Line
	}
	a.Status, a.Code, a.ShortURL = http.StatusCreated, l.Code, b.c.o.Links.Rules.ShortURL(l.Code)
	if !r.Made {
		a.Status = http.StatusOK
	}
	if b.keep {
		a.ID = l.ID
	}
	a.Owner = l.Owner
}

// spare takes n refused lines back from the allowance.
func (b *bulk) spare(n int) {
	if !b.dry {
		b.c.spare(n)
	}
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
