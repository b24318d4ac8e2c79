package api

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/hotrow/hotrow/internal/links"
)

// A clickDocument is a click as clients see it.
type clickDocument struct {
	Seq      int64   `json:"seq"`
	At       string  `json:"at"`
	Code     *string `json:"code"`
	Kind     string  `json:"kind"`
	IP       string  `json:"ip,omitempty"`
	Country  string  `json:"country,omitempty"`
	Browser  string  `json:"browser,omitempty"`
	OS       string  `json:"os,omitempty"`
	Device   string  `json:"device,omitempty"`
	Referrer string  `json:"referrer,omitempty"`
	Path     string  `json:"path,omitempty"`
}

// clickOf returns what clients see of a click.
func clickOf(k *links.Click) clickDocument {
	d := clickDocument{Seq: k.Seq, At: links.FormatTime(k.At), Kind: k.Kind.String(), IP: k.IP,
		Country: k.Country, Browser: k.Browser, OS: k.OS, Device: k.Device, Referrer: k.Referrer,
		Path: k.Path}
	if k.Code != "" {
		d.Code = &k.Code
	}
	return d
}

// maxClicks is the most clicks of one page.
const maxClicks = 10_000

// clicks answers with a page of the log of clicks.
func (c *call) clicks() error {
	if err := c.may(links.RoleRead, false); err != nil {
		return err
	}
	if err := c.known("code", "order", "after", "limit"); err != nil {
		return err
	}
	order := c.form.Get("order")
	q := links.ClickQuery{All: true, After: c.form.Get("after"), Newest: order == "-at"}
	if order != "" && order != "at" && order != "-at" {
		return problem{kind: kindBadQuery, detail: "order is at or -at"}
	}
	var err error
	if q.Limit, err = c.number("limit", 100, maxClicks); err != nil {
		return err
	}
	if code := c.form.Get("code"); code != "" {
		l, err := c.o.Links.Get(c.r.Context(), code)
		if err != nil {
			return err
		}
		q.All, q.Link = false, l.ID
	}
	list, next, err := c.o.Stats.Clicks(c.r.Context(), q)
	if err != nil {
		return err
	}
	docs := make([]clickDocument, len(list))
	for i := range list {
		docs[i] = clickOf(&list[i])
	}
	offers := append(append([]string{typeJSON}, msgPackTypes...), typeNDJSON)
	if i, ok := c.negotiate(offers); ok && offers[i] == typeNDJSON {
		return c.clickLines(docs, next)
	}
	behind := (*string)(nil)
	if next != "" {
		behind = &next
	}
	return c.answer(http.StatusOK, member{"clicks", docs}, member{"next", behind})
}

// clickLines writes clicks one a line. Where there are more, the header Link
// says where.
func (c *call) clickLines(docs []clickDocument, next string) error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for i := range docs {
		if err := enc.Encode(&docs[i]); err != nil {
			return err
		}
	}
	if next != "" {
		c.linkNext("/api/v1/clicks", next)
	}
	return c.write(http.StatusOK, typeNDJSON, out.Bytes())
}
