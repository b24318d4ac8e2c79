package main

import (
	"errors"
	"fmt"

	"github.com/hotrow/hotrow/internal/front"
)

type tokenCmd struct {
	Name string `arg:"" help:"Who will hold the token; it appears in logs."`
	Role string `help:"The role that the token has." default:"editor"`
}

// Run makes a token. The token itself is printed once and kept nowhere.
func (c *tokenCmd) Run(p *program) error {
	if c.Name == "" || c.Role == "" {
		return usageError{errors.New("give a name, and with --role a role: the configuration " +
			"takes no token without them")}
	}
	secret, sum := front.MakeSecret()
	fmt.Fprintf(p.stderr, "The token, which is shown only now, then its line for the "+
		"configuration (auth.tokens):\n")
	fmt.Fprintf(p.stdout, "%s\n- {name: %q, sha256: %q, role: %q}\n", secret, c.Name, sum, c.Role)
	return nil
}
