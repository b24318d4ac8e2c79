package source

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFences_ShareOnlyWhatHasNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFences()
		var begun int // calls of reach; each takes a second
		reach := func(context.Context) (Position, error) {
			begun++
			n := begun
			time.Sleep(time.Second)
			return Position(n), nil
		}
		var wait sync.WaitGroup
		call := func(want Position) {
			wait.Go(func() {
				if got, err := f.Join(t.Context(), reach); got != want || err != nil {
					t.Errorf("got fence %d, %v, want %d", got, err, want)
				}
			})
			synctest.Wait()
		}
		call(1)
		for range 10 {
			call(2) // the first has begun: none of these may join it
		}
		time.Sleep(time.Second + time.Millisecond)
		call(3)
		wait.Wait()
		if begun != 3 {
			t.Errorf("%d fences for 12 callers", begun)
		}
	})
}

func TestFences_OutliveTheirLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFences()
		reach := func(ctx context.Context) (Position, error) {
			select {
			case <-time.After(time.Second):
				return 7, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		var wait sync.WaitGroup
		impatient, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		wait.Go(func() {
			if _, err := f.Join(t.Context(), reach); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		wait.Go(func() { // leads the second fence, and gives up half-way
			if _, err := f.Join(impatient, reach); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the impatient caller got %v", err)
			}
		})
		synctest.Wait()
		wait.Go(func() { // joins it
			if pos, err := f.Join(t.Context(), reach); pos != 7 || err != nil {
				t.Errorf("the patient caller got %d, %v", pos, err)
			}
		})
		wait.Wait()
	})
}

func TestFences_PassErrorsOn(t *testing.T) {
	f := NewFences()
	broken := errors.New("broken")
	fail := func(context.Context) (Position, error) { return 0, broken }
	if _, err := f.Join(t.Context(), fail); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestProgress_NeverGoesBack(t *testing.T) {
	p := NewProgress(5)
	p.Advance(3)
	if pos, ended, _ := p.At(); pos != 5 || ended {
		t.Errorf("at %d, ended %v", pos, ended)
	}
	_, _, changed := p.At()
	p.Advance(6)
	<-changed
	_, _, changed = p.At()
	p.End()
	<-changed
	if pos, ended, _ := p.At(); pos != 6 || !ended {
		t.Errorf("at %d, ended %v", pos, ended)
	}
}

func TestProgress_IsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProgress(5)
		if pos, err := p.Reach(t.Context(), 4); pos != 5 || err != nil {
			t.Errorf("reached %d, %v, want 5 at once", pos, err)
		}
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Reach(limited, 6); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a position that does not come: %v", err)
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			if pos, err := p.Reach(t.Context(), 7); pos != 8 || err != nil {
				t.Errorf("reached %d, %v, want 8", pos, err)
			}
		})
		wait.Go(func() {
			if _, err := p.Reach(t.Context(), 9); !errors.Is(err, ErrDetached) {
				t.Errorf("beyond the end: %v, want %v", err, ErrDetached)
			}
		})
		synctest.Wait()
		p.Advance(6)
		synctest.Wait()
		p.Advance(8)
		synctest.Wait()
		p.End()
		wait.Wait()
	})
}
