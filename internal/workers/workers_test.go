package workers

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

func TestPool_RunsAllAtOnce(t *testing.T) {
	var c Pool
	const n = 200
	for range 3 {
		var running sync.WaitGroup
		running.Add(n)
		release := make(chan struct{})
		var ended sync.WaitGroup
		ended.Add(n)
		for range n {
			c.Go(func() {
				defer ended.Done()
				running.Done()
				<-release
			})
		}
		running.Wait() // were one to wait for another, it would hang here
		close(release)
		ended.Wait()
	}
}

func TestPool_UsesGoroutinesAgainAndEndsThem(t *testing.T) {
	var c Pool
	one := func() {
		done := make(chan struct{})
		c.Go(func() { close(done) })
		<-done
	}
	waiting := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.idle)
	}
	for range 100 {
		one()
		for waiting() == 0 { // the goroutine is about to wait
			runtime.Gosched()
		}
	}
	if n := waiting(); n != 1 {
		t.Errorf("%d goroutines for functions one after the other", n)
	}
	deadline := waittest.Deadline(time.Minute)
	for c.swept() != nil && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if n := waiting(); n != 0 {
		t.Errorf("%d goroutines wait for ever", n)
	}
	one() // and it begins anew
}

// swept returns the timer: nil when all have ended.
func (c *Pool) swept() *time.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sweep
}

// deep uses as much stack as an answer does.
//
//go:noinline
func deep(n int) (sum byte) {
	var frame [512]byte
	frame[n%len(frame)] = byte(n)
	if n > 0 {
		sum = deep(n - 1)
	}
	return sum + frame[n%len(frame)]
}

// BenchmarkPool is a function that needs 12 KiB of stack, in a goroutine of a
// pool and in one that begins with the smallest.
func BenchmarkPool(b *testing.B) {
	var c Pool
	for name, run := range map[string]func(func()){
		"pool": c.Go, "go": func(f func()) { go f() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			done := make(chan struct{})
			for b.Loop() {
				run(func() { deep(24); done <- struct{}{} })
				<-done
			}
		})
	}
}
