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

// BenchmarkPost is a message that wants no answer, from one caller and from many.
func BenchmarkPost(b *testing.B) {
	h := new(Handlers)
	h.Post(postID, func([]byte) {})
	data := make([]byte, 512)
	post := func(b *testing.B, c *Conn) {
		if err := c.Post(context.Background(), postID, data); err != nil {
			b.Error(err)
		}
	}
	for _, callers := range []int{1, 50} {
		b.Run(map[int]string{1: "one", 50: "many"}[callers], func(b *testing.B) {
			c, _ := pair(b, Options{}, Options{Handlers: h})
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			b.SetParallelism(callers)
			if callers == 1 {
				for b.Loop() {
					post(b, c)
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						post(b, c)
					}
				})
			}
			if err := c.Barrier(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkStream is a message of a stream, sent and received.
func BenchmarkStream(b *testing.B) {
	h := new(Handlers)
	h.Stream(streamID, func(ctx context.Context, s *Stream) error {
		var buf []byte
		var err error
		for err == nil {
			buf, err = s.Recv(ctx, buf[:0])
		}
		return nil
	})
	c, _ := pair(b, Options{}, Options{Handlers: h})
	data := make([]byte, 512)
	s, err := c.Stream(context.Background(), streamID, data)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := s.Send(context.Background(), data); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Finish(); err != nil {
		b.Fatal(err)
	}
}
