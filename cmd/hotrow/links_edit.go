package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// linksEditCmd changes links. A flag that is not given leaves its member alone.
type linksEditCmd struct {
	Code   []string `arg:"" help:"The codes; several take the same changes, but --rename."`
	URL    *string  `name:"url" placeholder:"URL" help:"Where they lead."`
	Title  *string  `placeholder:"TEXT" help:"The title; an empty one takes it away."`
	Tag    []string `help:"Add a tag; several are allowed."`
	Untag  []string `help:"Take a tag away; several are allowed."`
	On     bool     `help:"Switch on." xor:"switch"`
	Off    bool     `help:"Switch off." xor:"switch"`
	Expire *string  `placeholder:"7d|TIME|never" help:"When they expire."`
	Max    *int64   `placeholder:"N" help:"How often they may be followed; 0: any number."`
	Status *int     `placeholder:"302" help:"301, 302, 303, 307 or 308."`
	Rename string   `placeholder:"CODE" help:"Another code; the old one leads nowhere then."`

	linksClient
}

// changes returns the body of the PATCH, but for tags.
func (c *linksEditCmd) changes(now time.Time) (map[string]any, error) {
	doc := map[string]any{}
	if c.URL != nil {
		doc["url"] = *c.URL
	}
	if c.Title != nil {
		doc["title"] = *c.Title
		if *c.Title == "" {
			doc["title"] = nil
		}
	}
	if c.On || c.Off {
		doc["enabled"] = c.On
	}
	if c.Max != nil {
		doc["max_clicks"] = *c.Max
		if *c.Max == 0 {
			doc["max_clicks"] = nil
		}
	}
	if c.Status != nil {
		doc["status"] = *c.Status
	}
	if c.Rename != "" {
		doc["code"] = c.Rename
	}
	switch {
	case c.Expire == nil:
	case *c.Expire == "never":
		doc["expires_at"] = nil
	default:
		at, err := expiry(*c.Expire, now)
		if err != nil {
			return nil, err
		}
		doc["expires_at"] = at.UTC().Format(time.RFC3339)
	}
	return doc, nil
}

// Run changes links. It goes on after one that cannot be changed.
func (c *linksEditCmd) Run(p *program) error {
	doc, err := c.changes(time.Now())
	switch {
	case err != nil:
		return usageError{err}
	case len(doc) == 0 && len(c.Tag) == 0 && len(c.Untag) == 0:
		return usageError{errors.New("nothing to change: say --url, --title, --tag, --untag, " +
			"--on, --off, --expire, --max, --status or --rename")}
	case c.Rename != "" && len(c.Code) > 1:
		return usageError{errors.New("--rename is for one link")}
	}
	var errs []error
	for _, code := range c.Code {
		if err := c.edit(p, code, doc); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", code, err))
		}
	}
	return errors.Join(errs...)
}

// edit changes one link, and prints its short URL.
func (c *linksEditCmd) edit(p *program, code string, doc map[string]any) error {
	path := "links/" + url.PathEscape(code)
	if len(c.Tag) > 0 || len(c.Untag) > 0 {
		var now linkDocument
		if _, err := c.ask(p, http.MethodGet, path, nil, &now); err != nil {
			return err
		}
		gone := func(tag string) bool { return slices.Contains(c.Untag, tag) }
		doc["tags"] = slices.DeleteFunc(append(now.Tags, c.Tag...), gone)
	}
	var changed linkDocument
	text, err := c.ask(p, http.MethodPatch, path, doc, &changed)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.print(p, text)
	}
	_, err = fmt.Fprintln(p.stdout, changed.ShortURL)
	return err
}

type linksRestoreCmd struct {
	Code []string `arg:"" help:"The codes that they had."`

	linksClient
}

// Run brings links back. It goes on after one that cannot be.
func (c *linksRestoreCmd) Run(p *program) error {
	var errs []error
	for _, code := range c.Code {
		_, err := c.ask(p, http.MethodPost, "links/"+url.PathEscape(code)+"/restore", nil, nil)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", code, err))
		}
	}
	return errors.Join(errs...)
}
