package sqlfront

import (
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// TestSampler_BoundsLooks: of many statements a part is chosen, the same ones again, and all of
// them once there are few.
func TestSampler_BoundsLooks(t *testing.T) {
	s := newSampler(false, 1)
	now := time.Unix(1, 0)
	second := func(rate int) (chosen map[uint64]bool) {
		chosen = make(map[uint64]bool)
		for i := range rate {
			now = now.Add(time.Second / time.Duration(rate))
			hash := uint64(i) * 0x9e3779b97f4a7c15
			if ok, of := s.takes(hash, now); ok {
				chosen[hash] = true
				if of < 1 || of > 1<<10 {
					t.Fatalf("a statement stands for %d", of)
				}
			}
		}
		return chosen
	}
	if n := len(second(front.SQLLooksKept / 2)); n != front.SQLLooksKept/2 {
		t.Errorf("of some at once %d are chosen", n)
	}
	few := front.SQLLooks / 2
	if second(few); len(second(few)) != few {
		t.Errorf("of %d statements not all are chosen", few)
	}
	for range 3 {
		second(40 * front.SQLLooks)
	}
	many := second(40 * front.SQLLooks)
	if n := len(many); n > 2*front.SQLLooks || n < front.SQLLooks/4 {
		t.Errorf("of %d statements %d are chosen, want about %d", 40*front.SQLLooks, n, front.SQLLooks)
	}
	for hash := range second(40 * front.SQLLooks) {
		if !many[hash] {
			t.Error("a statement is chosen that was not before")
			break
		}
	}
	now = now.Add(20 * time.Second)
	if len(second(few)) != few {
		t.Errorf("of %d statements again not all are chosen", few)
	}
}

// TestSampler_BoundsLooksOfBursts: who sends many statements in every other second alone is looked
// for as seldom.
func TestSampler_BoundsLooksOfBursts(t *testing.T) {
	s := newSampler(false, 1)
	now, chosen := time.Unix(1, 0), 0
	const seconds, rate = 200, 40 * front.SQLLooks
	for range seconds / 2 {
		for i := range rate {
			now = now.Add(time.Second / rate)
			if ok, _ := s.takes(uint64(i)*0x9e3779b97f4a7c15, now); ok {
				chosen++
			}
		}
		now = now.Add(time.Second)
	}
	if most := front.SQLLooksKept + seconds*front.SQLLooks; chosen > most {
		t.Errorf("%d are chosen, at most %d should be", chosen, most)
	}
}
