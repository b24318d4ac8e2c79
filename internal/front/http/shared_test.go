package httpfront

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// TestLoop_SharedLinesSayWhatIsSo: the lines that hits have in common are kept from one
// wake-up to the next, and say at each what is so then.
func TestLoop_SharedLinesSayWhatIsSo(t *testing.T) {
	site := newServer(t)
	for range 2 {
		site.do("GET", "/depts/10", "")
	}
	s := newStepper(t, site.h).scope.(*loop)
	now := time.Now().Truncate(time.Second)
	s.BeginTurn(now)
	var at resource.AsOf
	eventually(t, "a hit", func() bool {
		s.Snapshot.Begin(time.Now())
		_, state, of := s.resource("depts").Lookup("10", row.FormatJSON, &s.Snapshot)
		if of != nil {
			at = *of
		}
		return state == resource.Hit
	})
	at.Lag = 2 * time.Millisecond
	position := func() string { return "Hotrow-Position: " + at.Token.String() + "; lag=" }
	want := func(step string, private bool, lines ...string) {
		t.Helper()
		for range 2 {
			got := string(s.block(&at, private))
			for _, line := range lines {
				if !strings.Contains(got, line+"\r\n") {
					t.Errorf("%s: %q has no line %q", step, got, line)
				}
			}
		}
	}
	date := func(at time.Time) string { return "Date: " + at.UTC().Format(http.TimeFormat) }
	first := date(now)
	want("first", false, first, position()+"0.002", "Cache-Control: no-cache")
	want("protected", true, first, position()+"0.002", "Cache-Control: private, no-cache")

	s.BeginTurn(now.Add(900 * time.Microsecond))
	at.Lag += 900 * time.Microsecond
	want("a part of a millisecond later", false, first, position()+"0.003")
	want("protected, too", true, position()+"0.003", "Cache-Control: private, no-cache")
	s.BeginTurn(now.Add(time.Millisecond))
	at.Token.Pos++
	want("a change later", false, first, position()+"0.003")
	s.BeginTurn(now.Add(time.Second))
	want("a second later", false, date(now.Add(time.Second)), position()+"0.003")

	o := s.live.Options
	o.CacheControl = "max-age=7"
	s.of.h.Configure(o)
	s.BeginTurn(now.Add(time.Second))
	want("after a reload", false, position()+"0.003", "Cache-Control: max-age=7")
}
