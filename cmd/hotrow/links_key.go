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

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
)

// linksKeyCmd is about the keys of the API.
type linksKeyCmd struct {
	Add linksKeyAddCmd    `cmd:"" help:"Make a key and print it, once."`
	Ls  linksKeyListCmd   `cmd:"" help:"List the keys: names and roles."`
	Rm  linksKeyRemoveCmd `cmd:"" help:"Take a key away."`
}

type linksKeyAddCmd struct {
	Name string `arg:"" help:"Who will hold the key; it appears in the history of links."`
	Role string `enum:"read,write,admin" default:"write" help:"read, write or admin."`

	Config string `short:"c" placeholder:"FILE" help:"Write into this configuration's database."`

	linksClient
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
	ID int64 `arg:"" help:"The number of the key (hotrow links key ls)."`

	linksClient
}

// Run takes a key away.
func (c *linksKeyRemoveCmd) Run(p *program) error {
	_, err := c.ask(p, http.MethodDelete, "keys/"+strconv.FormatInt(c.ID, 10), nil, nil)
	return err
}
