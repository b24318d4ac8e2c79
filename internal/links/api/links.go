package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/row"
)

// location returns the path of a link.
func location(code string) string { return "/api/v1/links/" + url.PathEscape(code) }

// create makes a link, or, from NDJSON, many.
func (c *call) create() error {
	if c.bodyType() == typeNDJSON {
		if err := c.known("dry_run", "keep"); err != nil {
			return err
		}
		return c.bulk()
	}
	if err := c.known(); err != nil {
		return err
	}
	if err := c.mayMake(1); err != nil {
		return err
	}
	if _, _, err := c.answerType(); err != nil {
		c.spare(1)
		return err // before anything is made
	}
	d, err := c.draft()
	if err != nil {
		c.spare(1)
		return err
	}
	l, made, err := c.o.Links.Create(c.r.Context(), d, c.who)
	if err != nil {
		c.spare(1)
		return err
	}
	if !made {
		return c.link(http.StatusOK, &l)
	}
	c.w.Header().Set("Location", location(l.Code))
	return c.link(http.StatusCreated, &l)
}

// get answers with a link.
func (c *call) get(code string) error {
	if err := c.may(links.RoleRead, true); err != nil {
		return err
	}
	l, err := c.o.Links.Get(c.r.Context(), code)
	if err != nil {
		return err
	}
	if tags, ok := httprule.EntityTags(c.r.Header, "If-None-Match"); ok {
		for _, t := range tags {
			if t == "*" || t == l.ETag() || t == "W/"+l.ETag() {
				c.sent = true
				c.w.Header().Set("ETag", l.ETag())
				c.w.WriteHeader(http.StatusNotModified)
				return nil
			}
		}
	}
	return c.link(http.StatusOK, &l)
}

// condition reads If-Match and If-None-Match.
func (c *call) condition() (links.Condition, error) {
	var cond links.Condition
	var ok bool
	if cond.Match, ok = httprule.EntityTags(c.r.Header, "If-Match"); !ok {
		return cond, problem{kind: kindBadQuery, detail: "If-Match is not a list of entity tags"}
	}
	if cond.Match != nil {
		cond.Match = append([]string{}, httprule.StrongTags(cond.Match)...)
	}
	if cond.NoneMatch, ok = httprule.EntityTags(c.r.Header, "If-None-Match"); !ok {
		return cond, problem{kind: kindBadQuery,
			detail: "If-None-Match is not a list of entity tags"}
	}
	return cond, nil
}

// changing reads what a request that changes a link has.
func (c *call) changing() (*links.Draft, links.Condition, error) {
	if err := c.may(links.RoleWrite, false); err != nil {
		return nil, links.Condition{}, err
	}
	if err := c.known(); err != nil {
		return nil, links.Condition{}, err
	}
	if _, _, err := c.answerType(); err != nil {
		return nil, links.Condition{}, err
	}
	cond, err := c.condition()
	if err != nil {
		return nil, cond, err
	}
	d, err := c.draft()
	return d, cond, err
}

// put makes a link what the body says, or makes it.
func (c *call) put(code string) error {
	d, cond, err := c.changing()
	if err != nil {
		return err
	}
	l, made, err := c.o.Links.Replace(c.r.Context(), code, d, cond, c.who)
	if err != nil {
		return err
	}
	if made {
		c.w.Header().Set("Location", location(l.Code))
		return c.link(http.StatusCreated, &l)
	}
	return c.link(http.StatusOK, &l)
}

// patch changes the members that the body has.
func (c *call) patch(code string) error {
	d, cond, err := c.changing()
	if err != nil {
		return err
	}
	l, err := c.o.Links.Merge(c.r.Context(), code, d, cond, c.who)
	if err != nil {
		return err
	}
	if l.Code != code {
		c.w.Header().Set("Content-Location", location(l.Code))
	}
	return c.link(http.StatusOK, &l)
}

// remove deletes a link.
func (c *call) remove(code string) error {
	if err := c.may(links.RoleWrite, false); err != nil {
		return err
	}
	cond, err := c.condition()
	if err != nil {
		return err
	}
	if err := c.o.Links.Delete(c.r.Context(), code, cond, c.who); err != nil {
		return err
	}
	c.sent = true
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// restore brings back the link that was deleted last under a code.
func (c *call) restore(code string) error {
	if err := c.may(links.RoleWrite, false); err != nil {
		return err
	}
	if _, _, err := c.answerType(); err != nil {
		return err
	}
	l, err := c.o.Links.Restore(c.r.Context(), code, c.who)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", location(l.Code))
	return c.link(http.StatusCreated, &l)
}

// edits answers with the history of a link.
func (c *call) edits(code string) error {
	if err := c.may(links.RoleRead, false); err != nil {
		return err
	}
	limit, err := c.number("limit", 50, links.MaxPage)
	if err != nil {
		return err
	}
	edits, err := c.o.Links.Edits(c.r.Context(), code, limit)
	if err != nil {
		return err
	}
	type document struct {
		At     string          `json:"at"`
		By     *string         `json:"by"`
		Before json.RawMessage `json:"before"`
		After  json.RawMessage `json:"after"`
	}
	out := make([]document, len(edits))
	for i, e := range edits {
		out[i] = document{At: links.FormatTime(e.At), Before: rawOrNull(e.Before),
			After: rawOrNull(e.After)}
		if e.Who != "" {
			out[i].By = &e.Who
		}
	}
	return c.answer(http.StatusOK, member{"edits", out})
}

func rawOrNull(text string) json.RawMessage {
	if text == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(text)
}

// query reads which links are to be listed.
func (c *call) query() (links.Query, error) {
	q := links.Query{Search: c.form.Get("q"), Tag: c.form.Get("tag"), After: c.form.Get("after")}
	if err := c.known("q", "tag", "order", "limit", "after", "count", "days"); err != nil {
		return q, err
	}
	var ok bool
	if q.Order, ok = links.ParseOrder(c.form.Get("order")); !ok {
		return q, problem{kind: kindBadQuery, detail: "order is -created_at, -clicks or code"}
	}
	if len(q.Search) > 200 || len(q.Tag) > 300 {
		return q, problem{kind: kindBadQuery, detail: "q or tag is too long"}
	}
	var err error
	q.Limit, err = c.number("limit", 50, links.MaxPage)
	return q, err
}

// number reads a parameter that is a number from 1 to most.
func (c *call) number(name string, byDefault, most int) (int, error) {
	text := c.form.Get(name)
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, problem{kind: kindBadQuery,
			detail: name + " is a number from 1 to " + strconv.Itoa(most)}
	}
	return n, nil
}

// list answers with a page of links, or, where NDJSON or CSV is asked for, with
// all of them.
func (c *call) list() error {
	if err := c.may(links.RoleRead, true); err != nil {
		return err
	}
	q, err := c.query()
	if err != nil {
		return err
	}
	offers := append([]string{typeJSON}, msgPackTypes...)
	offers = append(offers, typeNDJSON, typeCSV)
	i, ok := c.negotiate(offers)
	if ok && (offers[i] == typeNDJSON || offers[i] == typeCSV) {
		return c.export(q, offers[i])
	}
	page, err := c.o.Links.List(c.r.Context(), q)
	if err != nil {
		return err
	}
	body := []byte{'['}
	for i := range page.Links {
		if i > 0 {
			body = append(body, ',')
		}
		body = page.Links[i].Append(body, row.FormatJSON, c.o.Links.Rules, c.now())
	}
	next := (*string)(nil)
	if page.Next != "" {
		next = &page.Next
		c.linkNext("/api/v1/links", page.Next)
	}
	members := []member{{"links", json.RawMessage(append(body, ']'))}, {"next", next}}
	if page.Next != "" && page.Looked > 0 {
		members = append(members, member{"looked", page.Looked})
	}
	if c.form.Get("count") == "1" {
		n, err := c.o.Links.Count(c.r.Context())
		if err != nil {
			return err
		}
		members = append(members, member{"count", n})
	}
	if c.form.Get("days") != "" {
		days, err := c.days(page.Links)
		if err != nil {
			return err
		}
		members = append(members, member{"days", days})
	}
	return c.answer(http.StatusOK, members...)
}

// A daysDocument is what the links of a page had on each of the last days.
type daysDocument struct {
	From   string             `json:"from"`
	Clicks map[string][]int64 `json:"clicks"` // by code; who had none is not there
}

// days reads what the links of a page had on each of the last days.
func (c *call) days(page []links.Link) (*daysDocument, error) {
	n, err := c.number("days", 1, links.MaxDays)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(page))
	for i := range page {
		ids[i] = page[i].ID
	}
	byID, err := c.o.Stats.Days(c.r.Context(), ids, n)
	if err != nil {
		return nil, err
	}
	d := &daysDocument{From: links.Day.Name(c.o.Stats.FirstDay(n)),
		Clicks: make(map[string][]int64, len(byID))}
	for i := range page {
		if list, ok := byID[page[i].ID]; ok {
			d.Clicks[page[i].Code] = list
		}
	}
	return d, nil
}

// linkNext adds the Link header of the next page (RFC 8288).
func (c *call) linkNext(path, next string) {
	form := url.Values{}
	for name, values := range c.form {
		form[name] = values
	}
	form.Set("after", next)
	c.w.Header().Set("Link", "<"+path+"?"+form.Encode()+`>; rel="next"`)
}
