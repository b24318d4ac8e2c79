package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

func TestFences_ShareOnlyWhatHasNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFences()
		var begun int // calls of reach; each takes a second
		reach := func(context.Context) (source.Position, error) {
			begun++
			n := begun
			time.Sleep(time.Second)
			return source.Position(n), nil
		}
		var wait sync.WaitGroup
		call := func(want source.Position) {
			wait.Go(func() {
				if got, err := f.join(t.Context(), reach); got != want || err != nil {
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
		f := newFences()
		reach := func(ctx context.Context) (source.Position, error) {
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
			if _, err := f.join(t.Context(), reach); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		wait.Go(func() { // leads the second fence, and gives up half-way
			if _, err := f.join(impatient, reach); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the impatient caller got %v", err)
			}
		})
		synctest.Wait()
		wait.Go(func() { // joins it
			if pos, err := f.join(t.Context(), reach); pos != 7 || err != nil {
				t.Errorf("the patient caller got %d, %v", pos, err)
			}
		})
		wait.Wait()
	})
}

func TestFences_PassErrorsOn(t *testing.T) {
	f := newFences()
	broken := errors.New("broken")
	fail := func(context.Context) (source.Position, error) { return 0, broken }
	if _, err := f.join(t.Context(), fail); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestProgress_NeverGoesBack(t *testing.T) {
	p := progress{pos: 5}
	p.advance(3)
	if pos, ended, _ := p.at(); pos != 5 || ended {
		t.Errorf("at %d, ended %v", pos, ended)
	}
	_, _, changed := p.at()
	p.advance(6)
	<-changed
	_, _, changed = p.at()
	p.end()
	<-changed
	if pos, ended, _ := p.at(); pos != 6 || !ended {
		t.Errorf("at %d, ended %v", pos, ended)
	}
}
