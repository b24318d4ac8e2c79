package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
)

// linksKeyCommand returns hotrow links key: the keys of the API.
func linksKeyCommand(p *program) *cobra.Command {
	return group("key", "Make, list and take away API keys.",
		linksKeyAddCommand(p), linksKeyListCommand(p), linksKeyRemoveCommand(p))
}

type linksKeyAddCmd struct {
	Name, Role, Config string

	linksClient
}

// linksKeyAddCommand returns hotrow links key add.
func linksKeyAddCommand(p *program) *cobra.Command {
	c := new(linksKeyAddCmd)
	cmd := p.command("add", "Make a key and print it, once.", c.Run, argument{
		"<name>", "Who will hold the key; it appears in the history of links.", &c.Name})
	f := cmd.Flags()
	f.Var(newOneOf(&c.Role, "write", "read", "write", "admin"), "role",
		"`ROLE` of the key: read, write or admin.")
	f.StringVarP(&c.Config, "config", "c", "",
		"Write into the database of this configuration `FILE`.")
	c.linksClient.add(f)
	return cmd
}

// Run makes a key.
func (c *linksKeyAddCmd) Run(p *program) error {
	var made struct{ Key string }
	if c.Config != "" {
		var err error
		if made.Key, err = c.write(p); err != nil {
			return err
		}
		text, err := json.Marshal(map[string]any{
			"name": c.Name, "role": c.Role, "key": made.Key,
		})
		return errors.Join(err, c.show(p, text, made.Key))
	}
	text, err := c.ask(p, http.MethodPost, "keys",
		map[string]any{"name": c.Name, "role": c.Role}, &made)
	if err != nil {
		return err
	}
	return c.show(p, text, made.Key)
}

// write makes a key in the database itself: who can read the configuration needs
// no other key. So the first one is made, and one in place of an admin key that
// was lost, also while no server runs.
func (c *linksKeyAddCmd) write(p *program) (string, error) {
	cfg, warnings, err := config.Load(c.Config, p.env)
	if err != nil {
		return "", err
	}
	p.warn(warnings)
	name := cfg.LinksSource()
	if name == "" {
		return "", fmt.Errorf("%s: there is no section links", c.Config)
	}
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	log := textLogger(p.stderr, slog.LevelWarn)
	if err := inDirectory(cfg, name); err != nil {
		return "", err
	}
	if cfg.OwnsLinks() {
		if err := makeFor(cfg.Sources[name].Path()); err != nil {
			return "", fmt.Errorf("links.database: %w", err)
		}
	}
	src, err := openSource(ctx, cfg.Sources[name], false, cfg.OwnsLinks(), log)
	if err != nil {
		return "", fmt.Errorf("links.database: %w", err)
	}
	defer func() { _ = src.Close() }()
	store, ok := src.(source.Store)
	if !ok {
		return "", fmt.Errorf("links.database: source %s keeps no tables", name)
	}
	if _, err := schema.Migrate(ctx, store); err != nil {
		return "", fmt.Errorf("make the tables of links: %w", err)
	}
	_, secret, err := links.NewKeys(store, nil).Add(ctx, c.Name, links.Role(c.Role))
	return secret, err
}

// show prints a new key.
func (c *linksKeyAddCmd) show(p *program, text []byte, key string) error {
	if c.JSON {
		return c.print(p, text)
	}
	fmt.Fprintln(p.stderr,
		"The key, which is shown only now (HOTROW_LINKS_KEY=... for these commands):")
	fmt.Fprintln(p.stdout, key)
	return nil
}

type linksKeyListCmd struct{ linksClient }

// linksKeyListCommand returns hotrow links key ls.
func linksKeyListCommand(p *program) *cobra.Command {
	c := new(linksKeyListCmd)
	cmd := p.command("ls", "List the keys: names and roles.", c.Run)
	c.linksClient.add(cmd.Flags())
	return cmd
}

// Run lists the keys.
func (c *linksKeyListCmd) Run(p *program) error {
	var answer struct {
		Keys []struct {
			ID         int64   `json:"id"`
			Name       string  `json:"name"`
			Role       string  `json:"role"`
			CreatedAt  string  `json:"created_at"`
			LastUsedAt *string `json:"last_used_at"`
		} `json:"keys"`
	}
	text, err := c.ask(p, http.MethodGet, "keys", nil, &answer)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.print(p, text)
	}
	out := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ID\tNAME\tROLE\tMADE\tLAST USED")
	for _, k := range answer.Keys {
		used := "never"
		if k.LastUsedAt != nil {
			used = *k.LastUsedAt
		}
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\n", k.ID, k.Name, k.Role, k.CreatedAt, used)
	}
	return out.Flush()
}

type linksKeyRemoveCmd struct {
	ID string

	linksClient
}

// linksKeyRemoveCommand returns hotrow links key rm.
func linksKeyRemoveCommand(p *program) *cobra.Command {
	c := new(linksKeyRemoveCmd)
	cmd := p.command("rm", "Take a key away.", c.Run,
		argument{"<id>", "The number of the key (hotrow links key ls).", &c.ID})
	c.linksClient.add(cmd.Flags())
	return cmd
}

// Run takes a key away.
func (c *linksKeyRemoveCmd) Run(p *program) error {
	if _, err := strconv.ParseInt(c.ID, 10, 64); err != nil {
		return usageError{fmt.Errorf("<id> %q: want the number of a key", c.ID)}
	}
	_, err := c.ask(p, http.MethodDelete, "keys/"+c.ID, nil, nil)
	return err
}
