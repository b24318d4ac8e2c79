package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// linksEditCmd changes links. A flag that is not given leaves its member alone.
type linksEditCmd struct {
	Code                       []string
	URL, Title, Expire, Rename string
	Tag, Untag                 []string
	On, Off                    bool
	Max                        int64
	Status                     int

	given func(flag string) bool
	linksClient
}

// linksEditCommand returns hotrow links edit.
func linksEditCommand(p *program) *cobra.Command {
	c := new(linksEditCmd)
	cmd := p.command("edit", "Change links: target, title, tags, times...", c.Run,
		argument{"<code> ...", "The codes; several take the same changes, but --rename.", &c.Code})
	f := cmd.Flags()
	f.StringVar(&c.URL, "url", "", "The `URL` where they lead.")
	f.StringVar(&c.Title, "title", "", "The title; an empty `TEXT` takes it away.")
	f.Var(list{&c.Tag}, "tag", "Add a `TAG`; several are allowed.")
	f.Var(list{&c.Untag}, "untag", "Take a `TAG` away; several are allowed.")
	f.BoolVar(&c.On, "on", false, "Switch on.")
	f.BoolVar(&c.Off, "off", false, "Switch off.")
	f.StringVar(&c.Expire, "expire", "", "When they expire: `7d|TIME|never`.")
	f.Int64Var(&c.Max, "max", 0, "They may be followed `N` times; 0: any number.")
	f.IntVar(&c.Status, "status", 0, "HTTP `STATUS`: 301, 302, 303, 307 or 308.")
	f.StringVar(&c.Rename, "rename", "", "Another `CODE`; the old one leads nowhere then.")
	c.linksClient.add(f)
	c.given = f.Changed
	return cmd
}

// changes returns the body of the PATCH, but for tags.
func (c *linksEditCmd) changes(now time.Time) (map[string]any, error) {
	doc := map[string]any{}
	if c.given("url") {
		doc["url"] = c.URL
	}
	if c.given("title") {
		doc["title"] = c.Title
		if c.Title == "" {
			doc["title"] = nil
		}
	}
	if c.On || c.Off {
		doc["enabled"] = c.On
	}
	if c.given("max") {
		doc["max_clicks"] = c.Max
		if c.Max == 0 {
			doc["max_clicks"] = nil
		}
	}
	if c.given("status") {
		doc["status"] = c.Status
	}
	if c.Rename != "" {
		doc["code"] = c.Rename
	}
	switch {
	case !c.given("expire"):
	case c.Expire == "never":
		doc["expires_at"] = nil
	default:
		at, err := expiry(c.Expire, now)
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
	case c.On && c.Off:
		return usageError{errors.New("--on and --off exclude each other")}
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
	Code []string

	linksClient
}

// linksRestoreCommand returns hotrow links restore.
func linksRestoreCommand(p *program) *cobra.Command {
	c := new(linksRestoreCmd)
	cmd := p.command("restore", "Bring deleted links back, with their clicks.", c.Run,
		argument{"<code> ...", "The codes that they had.", &c.Code})
	c.linksClient.add(cmd.Flags())
	return cmd
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
