package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

type invalidateCmd struct {
	Document string `arg:"" help:"RESOURCE/KEY as in a path, or RESOURCE for all of its documents."`
	Token    string `env:"HOTROW_TOKEN" help:"A token with the role operator."`
	Ops      string `default:"http://127.0.0.1:8081" env:"HOTROW_OPS" help:"Where ops listens."`

	trustFlags
}

// Run asks the running server to forget.
func (c *invalidateCmd) Run(p *program) error {
	q := url.Values{"path": {"/" + strings.TrimPrefix(c.Document, "/")}}
	address := strings.TrimRight(c.Ops, "/") + "/-/invalidate?" + q.Encode()
	req, err := http.NewRequestWithContext(p.ctx, http.MethodPost, address, nil)
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	resp, err := askOperator(client, req, c.Token)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.Header.Get("Hotrow-Forgotten") == "none" {
		fmt.Fprintf(p.stdout, "nothing was kept of %s\n", c.Document)
		return nil
	}
	fmt.Fprintf(p.stdout, "%s is forgotten\n", c.Document)
	return nil
}
