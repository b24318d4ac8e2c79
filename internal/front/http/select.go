package httpfront

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// selected answers a list in the language of package query.
func (c *call) selected(q *question) (*answer, error) {
	var o query.Options
	if c.r.Prefer != nil {
		o.Count = parsePrefer(string(c.r.Prefer)).count
	}
	if c.r.Method == http.MethodGet {
		o.Range = string(c.r.Range)
	}
	o.Reads, o.Sees = c.mayEmbed, c.sees()
	if c.inProfile() {
		o.Rows = c.rowsOf(false)
	}
	access := c.res.AccessVersion() // before it is asked who may read
	raw := string(c.r.Query)
	profile := c.inProfile()
	if profile {
		raw = c.profileQuery(raw)
	}
	want, err := c.res.Query(raw, o)
	if err != nil {
		return nil, err
	}
	alone := c.coverEmbedded(q, want)
	switch {
	case want.Format != "":
		q.media, err = mediaByName(want.Format, nil)
	case profile:
		q.media, err = profileAccept(string(c.r.Accept))
	default:
		q.media, err = c.m.accept(c.r.Accept)
	}
	if err != nil {
		return nil, err
	}
	p := &selection{listing: c.listing(), want: want, as: q.media.rendering(), profile: profile}
	ask := &resource.ListAsk{Query: want, Pack: p.pack, Variant: p.variant(), Access: access}
	if !profile { // there the event loop would find the same text in other words
		ask.Raw = strings.Clone(c.m.spelling(c.r, q.media))
		ask.Alone = want.Format == "" && alone && (!c.o.granted() || len(want.Embeds()) == 0)
	}
	return c.keptOrRead(q, want.Limit, ask)
}

// mayEmbed returns the problem that keeps the client from reading a resource of which rows
// are to be embedded.
func (c *call) mayEmbed(name string) error {
	res, ok := c.o.Resources.Lookup(name)
	if !ok { // it has gone meanwhile
		return problem{kind: kindNotFound, detail: "there is no resource " + clip(name)}
	}
	who, err := c.m.pass(c.o, c.r, name, c.access(res).Read)
	if c.who == "" {
		c.who = who
	}
	switch {
	case err != nil || !c.o.granted():
		return err
	case !c.inProfile():
		return c.m.whole(c.ctx, c.o, c.r, res)
	}
	if _, err = c.look(res); err != nil {
		return err
	}
	schema, _, _ := strings.Cut(res.Plan().Table().Name, ".")
	if !slices.Contains(c.o.Schemas, schema) {
		return noRights(c.r, name)
	}
	return nil
}

// sees returns what queries may know of tables, where the role does not see all of them.
func (c *call) sees() func(*query.Table) *query.Table {
	if c.sight.grants == nil {
		return nil
	}
	return c.sight.sees
}

// coverEmbedded makes an answer private in which rows of a private resource are embedded.
// It reports whether who may read the list's own resource may read all of the answer, so
// that the event loop may give it out.
func (c *call) coverEmbedded(q *question, want *query.Query) bool {
	alone := true
	for _, res := range resource.Embedded(want) {
		if rule := res.Access().Read; rule != "public" {
			q.private, c.private = true, true
			alone = alone && rule == c.res.Access().Read
		}
	}
	return alone
}

// A selection packs what a query has found. It holds nothing of the request.
type selection struct {
	listing
	want    *query.Query
	as      rendering
	profile bool // without links: after is a column there
}

// variant names what else than the query the answer depends on.
func (s *selection) variant() string {
	if s.profile {
		return "profile," + s.as.name()
	}
	return s.as.name() + "," + s.want.Format
}

// pack makes the body of a list, and the lines that say which rows these are and where
// the list goes on.
func (s *selection) pack(p *resource.Page, of row.Format) (resource.Packed, error) {
	size := 0
	for _, doc := range p.Docs {
		if size += len(doc.Body()) + 1; size > s.most {
			return resource.Packed{}, problem{kind: kindTooLarge,
				hint:   "ask for fewer rows: limit=",
				detail: "the documents together are larger than " + strconv.Itoa(s.most) + " bytes"}
		}
	}
	if err := s.check(len(p.Docs), p.Total); err != nil {
		return resource.Packed{}, err
	}
	packed := resource.Packed{Rows: len(p.Docs)}
	lines := s.appendLines(nil, len(p.Docs), p.Total)
	if !s.as.plain() {
		packed.Body = s.as.append(make([]byte, 0, size+16), p.Shape, p.Rows)
		packed.Lines = string(lines)
		return packed, nil
	}
	if s.as.object {
		packed.Body, packed.Lines = p.Docs[0].Body(), string(lines)
		return packed, nil
	}
	packed.Body = row.AppendList(make([]byte, 0, size+16), of, p.Docs)
	if p.Next != "" && !s.profile {
		next := p.Next
		if s.want.Format != "" {
			next += "&format=" + url.QueryEscape(s.want.Format)
		}
		lines = append(lines, s.link(next)...)
	}
	packed.Lines = string(lines)
	return packed, nil
}

// check refuses a window that begins behind the last row, and an object of other than one
// row.
func (s *selection) check(rows int, total int64) error {
	first := s.want.Offset
	switch {
	case total >= 0 && int64(first) > total:
		return problem{kind: kindRange, code: query.CodeRange,
			detail: "Requested range not satisfiable",
			details: "An offset of " + strconv.Itoa(first) +
				" was requested, but there are only " + strconv.FormatInt(total, 10) + " rows.",
			header: "Content-Range: */" + strconv.FormatInt(total, 10) + "\r\n"}
	case first > query.MaxOffset:
		return problem{kind: kindBadQuery, code: query.CodeSyntax,
			detail: "the list begins after row " + strconv.Itoa(query.MaxOffset),
			hint:   "a page by after= has no such bound: follow the Link header"}
	case s.as.object && rows != 1:
		return problem{kind: kindNotSingular, code: "PGRST116",
			detail:  "Cannot coerce the result to a single JSON object",
			details: "The result contains " + strconv.Itoa(rows) + " rows"}
	}
	return nil
}

// appendLines appends the header lines that say which rows these are, of how many; total
// is -1 if they were not counted. Rows that follow a cursor have no numbers.
func (s *selection) appendLines(dst []byte, rows int, total int64) []byte {
	if s.want.Count != query.CountNone {
		dst = append(append(dst, "Preference-Applied: count="...), s.want.Count.String()...)
		dst = append(dst, "\r\n"...)
	}
	if s.want.After != nil {
		return dst
	}
	dst = append(dst, "Content-Range: "...)
	if rows == 0 {
		dst = append(dst, '*')
	} else {
		first := s.want.Offset
		dst = strconv.AppendInt(dst, int64(first), 10)
		dst = strconv.AppendInt(append(dst, '-'), int64(first+rows-1), 10)
	}
	if dst = append(dst, '/'); total < 0 {
		return append(dst, "*\r\n"...)
	}
	return append(strconv.AppendInt(dst, total, 10), "\r\n"...)
}
