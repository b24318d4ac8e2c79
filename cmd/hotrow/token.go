package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/front"
)

type tokenCmd struct{ Name, Role string }

// tokenCommand returns hotrow token.
func tokenCommand(p *program) *cobra.Command {
	c := new(tokenCmd)
	cmd := p.command("token", "Make a bearer token and its line for the configuration.", c.Run,
		argument{"<name>", "Who will hold the token; it appears in logs.", &c.Name})
	cmd.Flags().StringVar(&c.Role, "role", "editor", "The `ROLE` that the token has.")
	return cmd
}

// Run makes a token. The token itself is printed once and kept nowhere.
func (c *tokenCmd) Run(p *program) error {
	if c.Name == "" || c.Role == "" {
		return usageError{errors.New("give a name, and with --role a role: the configuration " +
			"takes no token without them")}
	}
	if err := config.CheckToken(c.Name, c.Role); err != nil {
		return usageError{fmt.Errorf("the configuration takes no such token: %w", err)}
	}
	secret, sum := front.MakeSecret()
	fmt.Fprintf(p.stderr, "The token, which is shown only now, then its line for the "+
		"configuration (auth.tokens):\n")
	fmt.Fprintf(p.stdout, "%s\n- {name: %q, sha256: %q, role: %q}\n", secret, c.Name, sum, c.Role)
	return nil
}
