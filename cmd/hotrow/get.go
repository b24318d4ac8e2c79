package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

type getCmd struct {
	Document, Ops, Server, Token, Direct string
	Explain, NoCache, Verbose            bool

	trustFlags
}

// getCommand returns hotrow get.
func getCommand(p *program) *cobra.Command {
	c := new(getCmd)
	cmd := p.command("get", "Read one document, from the running server or directly.", c.Run,
		argument{"<document>", "RESOURCE/KEY, or a list: RESOURCE?QUERY.", &c.Document})
	f := cmd.Flags()
	f.BoolVarP(&c.Verbose, "verbose", "v", false,
		"Show the request, the headers that matter, and where the answer came from.")
	f.BoolVar(&c.Explain, "explain", false,
		"The same and on what the copy depends; of a list, what memory has of it.")
	opsFlag(f, &c.Ops)
	f.Var(newAddress(&c.Server, "http://127.0.0.1:8080"), "server",
		"`URL` of the running server.")
	fromEnvironment(f, "server", "HOTROW_URL")
	tokenFlag(f, &c.Token, "A bearer `TOKEN`.")
	f.StringVar(&c.Direct, "direct", "",
		"Read this database or configuration instead: `URL|FILE`.")
	f.BoolVar(&c.NoCache, "no-cache", false, "Have the server read the database.")
	c.trustFlags.add(f)
	return cmd
}

// Run prints one document.
func (c *getCmd) Run(p *program) error {
	if c.Direct != "" {
		return c.direct(p)
	}
	if name, _, _ := strings.Cut(c.Document, "?"); c.Explain && isList(name) {
		return c.explainList(p)
	}
	address := strings.TrimRight(c.Server, "/") + "/" + strings.TrimPrefix(c.Document, "/")
	req, err := http.NewRequestWithContext(p.ctx, http.MethodGet, address, nil)
	if err != nil {
		return usageError{err}
	}
	req.Header.Set("Accept", "application/json")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.NoCache {
		req.Header.Set("Cache-Control", "no-cache")
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	begin := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%w (%s)", err, trustHint(err, "is hotrow serving there?"))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if c.Verbose || c.Explain {
		tell(p, resp, len(body), time.Since(begin))
	}
	if c.Explain {
		c.explainWords(p, client)
	}
	fmt.Fprintf(p.stdout, "%s\n", bytes.TrimSuffix(body, []byte("\n")))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", c.Document, resp.Status)
	}
	return nil
}

// direct reads the database itself.
func (c *getCmd) direct(p *program) error {
	name, key, ok, err := httpfront.ParseDocument(c.Document)
	if err != nil || !ok {
		return usageError{errors.Join(errors.New("name a document: RESOURCE/KEY"), err)}
	}
	if ext := filepath.Ext(c.Direct); (ext == ".yaml" || ext == ".yml") &&
		!strings.Contains(c.Direct, "://") {
		cfg, warnings, err := config.Load(c.Direct, p.env)
		if err != nil {
			return err
		}
		p.warn(warnings)
		return c.read(p, cfg, name, key)
	}
	cfg, warnings, err := config.FromURL(c.Direct, p.env)
	if err != nil {
		return err
	}
	p.warn(warnings)
	return c.read(p, cfg, name, key)
}

// read compiles one resource of cfg and loads one document.
func (c *getCmd) read(p *program, cfg *config.Config, name, key string) error {
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	log := newLogger(p.stderr, config.Log{Level: "warn"})
	if len(cfg.Resources) == 0 {
		err := withDatabase(p, c.Direct, func(ctx context.Context, src source.Source) error {
			found, _, _, err := discover(ctx, cfg, src, "main", false)
			if err == nil {
				cfg = found
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	specs, err := cfg.Specs()
	if err != nil {
		return err
	}
	for i := range specs {
		if specs[i].Name != name {
			continue
		}
		src, err := openSource(ctx, cfg.Sources[specs[i].Source], true, false, log)
		if err != nil {
			return err
		}
		defer func() { _ = src.Close() }()
		return c.load(ctx, p, src, specs[i].Spec, key)
	}
	names := make([]string, len(specs))
	for i := range specs {
		names[i] = specs[i].Name
	}
	return fmt.Errorf("there is no resource %q%s", name, row.DidYouMean(name, names))
}

// load reads and prints one document.
func (c *getCmd) load(
	ctx context.Context, p *program, src source.Source, spec *source.Spec, segment string,
) error {
	plan, err := src.Compile(ctx, spec)
	if err != nil {
		return err
	}
	key, err := httpfront.ParseKey(segment, len(plan.KeyType()))
	if err != nil {
		return err
	}
	if key, err = plan.KeyType().Parse(key); err != nil {
		return err
	}
	begin := time.Now()
	found, err := plan.Load(ctx, []row.Key{key})
	if err != nil {
		return err
	}
	if c.Verbose || c.Explain {
		for _, sql := range plan.SQL() {
			fmt.Fprintf(p.stderr, "sql       %s\n", sql)
		}
		fmt.Fprintf(p.stderr, "took      %v\n", time.Since(begin).Round(time.Microsecond))
	}
	if !found[0].Found() {
		return fmt.Errorf("%s: there is no such row", c.Document)
	}
	fmt.Fprintf(p.stdout, "%s\n", plan.Shape().AppendJSON(nil, found[0].Values))
	return nil
}
