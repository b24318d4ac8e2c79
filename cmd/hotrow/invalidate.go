package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

type invalidateCmd struct {
	Document string `arg:"" help:"RESOURCE/KEY, or RESOURCE for all of its documents."`
	Ops      string `default:"http://127.0.0.1:8081" env:"HOTROW_OPS" help:"Where ops listens."`

	trustFlags
}

// Run asks the running server to forget.
func (c *invalidateCmd) Run(p *program) error {
	name, key, has := strings.Cut(strings.TrimPrefix(c.Document, "/"), "/")
	q := url.Values{"resource": {name}}
	if has {
		q.Set("key", key)
	}
	address := strings.TrimRight(c.Ops, "/") + "/-/invalidate?" + q.Encode()
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, address, nil)
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%w (%s)", err,
			trustHint(err, "is hotrow serving, with its operator's listener there?"))
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	fmt.Fprintf(p.stdout, "%s is forgotten\n", c.Document)
	return nil
}
