package respfront

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/front"
)

// TestLog_TellsARefusalFromAnAnswer: a line says how a command ended.
func TestLog_TellsARefusalFromAnAnswer(t *testing.T) {
	var out bytes.Buffer
	log, err := accesslog.Open(accesslog.Config{Columns: front.AccessColumns(), Stdout: &out},
		accesslog.Settings{Mode: accesslog.All, Format: accesslog.JSON})
	if err != nil {
		t.Fatal(err)
	}
	s := newFaultySite(t)
	o := s.opts
	o.Access = log
	s.f.Configure(o)
	c := s.dial()
	c.do("GET depts:10")
	c.do("GET pay:1")
	c.do("MGET depts:10 pay:1")
	c.do("FLUSHALL")
	s.fault.Down.Store(true)
	c.do("GET depts:30")
	s.Allow(map[string]string{"ann": "reader"})
	c.do("AUTH secret-ann")
	s.Allow(map[string]string{"bob": "reader"})
	if got := c.do("GET depts:10"); !strings.HasPrefix(got, "-NOAUTH ") {
		t.Errorf("its token was taken away: %q", got)
	}
	c.do("QUIT") // the line of a turn is written behind its reply
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		_, rest, _ := strings.Cut(line, `"cache":"`)
		cache, _, _ := strings.Cut(rest, `"`)
		got = append(got, cache)
	}
	slices.Sort(got)
	want := "database-unavailable forbidden forbidden forbidden hit unauthorized"
	if all := strings.Join(got, " "); all != want {
		t.Errorf("the lines say %s, want %s:\n%s", all, want, out.String())
	}
}
