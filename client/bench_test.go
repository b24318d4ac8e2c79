package client

import (
	"context"
	"testing"
)

// BenchmarkGet reads documents from the server's memory, and from copies of the client.
func BenchmarkGet(b *testing.B) {
	s := newSite(b)
	for _, r := range []struct {
		name string
		opts []Option
	}{{name: "Server"}, {name: "Near", opts: []Option{WithNearCache(NearCache{})}}} {
		b.Run(r.name, func(b *testing.B) {
			c := open(b, s.wireURL, r.opts...)
			b.ReportAllocs()
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.Get(context.Background(), "depts", "10"); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
