package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

type invalidateCmd struct {
	Document, Token, Ops string

	trustFlags
}

// invalidateCommand returns hotrow invalidate.
func invalidateCommand(p *program) *cobra.Command {
	c := new(invalidateCmd)
	cmd := p.command("invalidate", "Have the server forget a document or a resource.", c.Run,
		argument{"<document>", "RESOURCE/KEY as in a path, or RESOURCE for all of its documents.",
			&c.Document})
	f := cmd.Flags()
	tokenFlag(f, &c.Token, "A `TOKEN` with the role operator.")
	opsFlag(f, &c.Ops)
	c.trustFlags.add(f)
	return cmd
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
