package memcached

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

func TestMemcached_DoctorSaysWhoAnswers(t *testing.T) {
	p, server := newPlan(t, users, "-m", "2")
	found, err := p.src.Doctor(t.Context(), source.FeedAuto, nil)
	if err != nil || len(found) != 2 || found[0].Level != source.LevelOK ||
		!strings.Contains(found[0].Text, " answers at "+server.Addr()) ||
		!strings.Contains(found[1].Text, "ttl") {
		t.Fatalf("doctor says %+v, %v", found, err)
	}
	big, n := strings.Repeat("x", 100_000), 0
	evicted := func() bool {
		n++
		server.Set(fmt.Sprint(n), big)
		found, err = p.Check(t.Context())
		return err != nil || len(found) > 1
	}
	within(t, "evictions", evicted)
	if err != nil || found[1].Level != source.LevelWarning ||
		!strings.Contains(found[1].Text, "thrown away") {
		t.Errorf("check says %+v, %v", found, err)
	}
}
