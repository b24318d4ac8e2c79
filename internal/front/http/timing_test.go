package httpfront

import (
	"regexp"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
)

func TestServerTiming_LeavesOutWhatThereWasNot(t *testing.T) {
	for want, s := range map[string]resource.Steps{
		"Server-Timing: lease;dur=0.012, pool;dur=0.004, database;dur=1.500, encode;dur=0.018\r\n": {
			Lease: 12 * time.Microsecond, Pool: 4 * time.Microsecond,
			Database: 1500 * time.Microsecond, Encode: 18 * time.Microsecond},
		"Server-Timing: lease;dur=2000.000\r\n": {Lease: 2 * time.Second},
	} {
		if got := string(appendServerTiming(nil, &s)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestServerTiming_IsOfMissesAndWrites asks over the event loop and by way of net/http.
func TestServerTiming_IsOfMissesAndWrites(t *testing.T) {
	s := newServer(t)
	miss := regexp.MustCompile(`^lease;dur=[0-9.]+, pool;dur=[0-9.]+, database;dur=[0-9.]+, encode;dur=[0-9.]+$`)
	write := regexp.MustCompile(`^lease;dur=[0-9.]+, database;dur=[0-9.]+, encode;dur=[0-9.]+$`)
	if got := s.do("GET", "/depts/10", "").Header.Get("Server-Timing"); !miss.MatchString(got) {
		t.Errorf("a miss: %q", got)
	}
	if a := s.hot("/depts/10"); a.Header.Get("Server-Timing") != "" {
		t.Errorf("a hit: %q", a.Header)
	}
	if got := s.do("PATCH", "/depts/10", `{"loc":"BOSTON"}`,
		"Content-Type: application/json").Header.Get("Server-Timing"); !write.MatchString(got) {
		t.Errorf("a write: %q", got)
	}
	if got := s.do("GET", "/depts/20", "", "Cache-Control: no-cache").Header.Get("Server-Timing"); got == "" {
		t.Error("a read of the database has none")
	}
}
