package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hotrow/hotrow/internal/config"
)

// fits refuses what would be ignored: the flags that say something of what is not served.
func (c *serveCmd) fits() error {
	if c.Target != "" && c.Config != "" {
		return errors.New("give a TARGET or a configuration, not both")
	}
	if c.Target == "" && c.Config == "" && c.demo == nil {
		return errors.New("serve what? hotrow serve app.db, or a database URL, or -c FILE; " +
			"hotrow demo has data to try it with")
	}
	for _, flag := range []string{"writable", "postgrest", "feed"} {
		if c.Config != "" && c.given(flag) {
			return fmt.Errorf("--%s is of a TARGET and excludes --config: the configuration has "+
				"access.write, http.postgrest and feed.mode", flag)
		}
	}
	return nil
}

// load reads the configuration that the command line asks for.
func (c *serveCmd) load(p *program) (*config.Config, error) {
	var cfg *config.Config
	var warnings []config.Warning
	var err error
	switch {
	case c.Config != "":
		cfg, warnings, err = config.Load(c.Config, p.env)
	case c.Target != "":
		cfg, warnings, err = config.FromURL(c.Target, p.env)
	default:
		cfg, warnings, err = c.demo.config(p.env)
	}
	if err != nil {
		return nil, err
	}
	p.warn(warnings)
	if c.Postgrest && cfg.HTTP.Postgrest.Path == "" {
		cfg.HTTP.Postgrest.Path = "/rest/v1"
	}
	if c.Config != "" {
		if err := cfg.CheckServes(); err != nil {
			return nil, err
		}
	}
	if s := cfg.Sources["main"]; s != nil && c.Config == "" && c.Feed != "auto" {
		s.Feed.Mode = c.Feed
		if !slices.Contains(s.Feeds(), c.Feed) {
			return nil, usageError{fmt.Errorf("--feed %s: no feed of this kind of database (%s)",
				c.Feed, s.Driver())}
		}
	}
	return cfg, nil
}
