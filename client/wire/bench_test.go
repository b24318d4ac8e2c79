package wire

import (
	"context"
	"testing"
)

// BenchmarkRequest is a request and its answer over the loopback, by one caller
// and by many.
func BenchmarkRequest(b *testing.B) {
	for _, callers := range []int{1, 50} {
		b.Run(map[int]string{1: "one", 50: "many"}[callers], func(b *testing.B) {
			c, _ := pair(b, Options{}, Options{Handlers: echoes()})
			data := make([]byte, 64)
			b.ReportAllocs()
			b.SetParallelism(callers)
			if callers == 1 {
				var answer []byte
				var err error
				for b.Loop() {
					answer, err = c.Request(context.Background(), echoID, data, answer[:0])
					if err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				var answer []byte
				var err error
				for pb.Next() {
					answer, err = c.Request(context.Background(), echoID, data, answer[:0])
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkPost is a message that wants no answer.
func BenchmarkPost(b *testing.B) {
	h := new(Handlers)
	h.Post(postID, func([]byte) {})
	c, _ := pair(b, Options{}, Options{Handlers: h})
	data := make([]byte, 512)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := c.Post(context.Background(), postID, data); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Barrier(context.Background()); err != nil {
		b.Fatal(err)
	}
}
