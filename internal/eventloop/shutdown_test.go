package eventloop

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestShutdown_LosesNoRequest has 32 clients in full flight: each is told that
// its connection ends by an answer, not by a reset.
func TestShutdown_LosesNoRequest(t *testing.T) {
	request, _ := put("abc")
	eachAtOnce(t, loopForms, Config{Grace: 300 * time.Millisecond}, func(t *testing.T, s *site) {
		var running sync.WaitGroup
		var told, lost, answered atomic.Int64
		for i := range 32 {
			c := s.dial(t)
			running.Go(func() {
				for j := 0; ; j++ {
					text := get("/hit/1")
					switch (i + j) % 8 {
					case 0:
						text = request
					case 1:
						text = get("/miss/2")
					}
					if _, err := c.Write([]byte(text)); err != nil {
						lost.Add(1)
						return
					}
					a, err := http.ReadResponse(c.r, nil)
					if err != nil {
						lost.Add(1)
						return
					}
					_, _ = c.r.Discard(int(a.ContentLength))
					answered.Add(1)
					if a.Close {
						told.Add(1)
						return
					}
				}
			})
		}
		eventually(t, "all are under way", func() bool { return answered.Load() > 1000 })
		ctx, cancel := context.WithTimeout(t.Context(), timeLimit)
		defer cancel()
		if err := s.server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		running.Wait()
		if told.Load() != 32 || lost.Load() != 0 {
			t.Errorf("%d of 32 were told, %d requests lost", told.Load(), lost.Load())
		}
		if n := s.server.Stats(); n.Open != 0 {
			t.Errorf("after Shutdown: %+v", n)
		}
	})
}

func TestShutdown_WaitsForVisitsAndClosesTheIdle(t *testing.T) {
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		idle, used, slow := s.dial(t), s.dial(t), s.dial(t)
		used.send(get("/hit/1"))
		used.want(200, "hit 1")
		slow.send(get("/slow"))
		<-s.full.entered
		down := make(chan error, 1)
		go func() { down <- s.server.Shutdown(t.Context()) }()
		idle.wantEnd()
		used.wantEnd()
		select {
		case err := <-down:
			t.Fatalf("Shutdown returned before the hand-over ended: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		close(s.full.release)
		slow.want(200, "slow")
		slow.wantEnd()
		if err := <-down; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if c, err := s.connect(); err == nil {
			_ = c.Close()
			t.Error("the listener still accepts")
		}
	})
}

func TestShutdown_CutsWhenItsTimeIsUp(t *testing.T) {
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		slow, half := s.dial(t), s.dial(t)
		slow.send(get("/slow"))
		half.send("GET /hal")
		<-s.full.entered
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := s.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v, want the context's error", err)
		}
		slow.wantEnd()
		half.wantEnd()
		<-s.full.canceled
		if n := s.server.Stats(); n.Open != 0 {
			t.Errorf("after Shutdown: %+v", n)
		}
	})
}

// TestClose_LeavesNothing: each itself looks for goroutines.
func TestClose_LeavesNothing(t *testing.T) {
	request, answer := put("abc")
	before := openFiles(t)
	each(t, loopForms, Config{}, func(t *testing.T, s *site) {
		var clients []*client
		for range 50 {
			c := s.dial(t)
			c.send(request + get("/miss/1") + get("/hit/2"))
			c.want(200, answer)
			c.want(200, "miss 1")
			c.want(200, "hit 2")
			clients = append(clients, c)
		}
		s.server.Close()
		for _, c := range clients {
			c.wantEnd()
			_ = c.Close()
		}
		if n := s.server.Stats(); n.Open != 0 || n.Accepted != 50 || s.proto.ended.Load() != 50 {
			t.Errorf("after Close: %+v, %d ended", n, s.proto.ended.Load())
		}
	})
	eventually(t, "every descriptor is closed", func() bool { return openFiles(t) <= before })
}
