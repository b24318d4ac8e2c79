package main

import (
	"context"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/resource"
)

// watchedLinks is how many changes of links wait for the index of the search. With more
// it is made anew.
const watchedLinks = 4096

// A linksWatch tells the index of the search of changed links.
type linksWatch struct {
	*resource.Watch
	of *resource.Resource
}

// watchLinks begins to tell of changed links; nil while no feed tells of them.
func (s *server) watchLinks() links.Watcher {
	r, ok := s.set.Lookup(config.LinksResource)
	if !ok || !r.Followed() {
		return nil
	}
	return &linksWatch{r.Watch(watchedLinks), r}
}

// Sound reports whether the feed is complete now.
func (w *linksWatch) Sound() bool { return w.of.Followed() && w.of.Fresh() }

// Next waits for changes, and takes those that have come by then.
func (w *linksWatch) Next(ctx context.Context) (codes []string, all bool, err error) {
	select {
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case e := <-w.C:
		for {
			if e.Reset {
				return nil, true, nil
			}
			codes = append(codes, string(e.Key))
			if len(codes) == links.MaxPage {
				return codes, false, nil
			}
			select {
			case e = <-w.C:
			default:
				return codes, false, nil
			}
		}
	}
}
