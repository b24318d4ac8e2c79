package main

import (
	"context"
	"errors"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// checkFiles says of the files that cfg names, databases apart, why serve could not open them.
// It makes none.
func checkFiles(cfg *config.Config) error {
	var errs []error
	found := func(key string, err error) {
		if err != nil {
			errs = append(errs, config.Problems{cfg.Problem(key, err.Error())})
		}
	}
	found("log.access_file", accesslog.Check(accessSettings(cfg)))
	if path := cfg.DiskPath(); path != "" {
		found("cache.disk.path", tier.CheckDisk(path))
	}
	if path := cfg.LinksCountry(); path != "" && cfg.LinksSource() != "" && cfg.Links.Log.Record {
		_, err := clicks.LoadCountries(path)
		found("links.country", err)
	}
	return errors.Join(errs...)
}

// checkLinks says whether serve would refuse to let anybody make links. The database of links
// may not be there yet.
func checkLinks(ctx context.Context, cfg *config.Config, sources opened) error {
	name := cfg.LinksSource()
	if name == "" {
		return nil
	}
	store, _ := sources[name].(source.Store) // nil: serve makes it
	return linksExposure(ctx, cfg, store)
}
