package kv

import (
	"slices"

	"github.com/hotrow/hotrow/internal/resource"
)

// wrote tells the client that has made a change of what that has touched, in front of its
// reply.
func (t *Tracker) wrote(o *Options, c *Tracked, result *resource.Result) {
	var told []string
	for _, touched := range result.Touched {
		if touched.Whole {
			c.flush()
		}
		for _, k := range touched.Keys {
			name := o.NameOf(touched.Resource.Name(), k)
			if c.bcast && c.mayRead(touched.Resource) {
				told = t.appendHeard(told, c, &name)
			}
			for _, key := range name.all() {
				if t.drop(key, c) {
					told = append(told, key)
				}
			}
		}
	}
	slices.Sort(told)
	t.invalidate(c, slices.Compact(told))
}
