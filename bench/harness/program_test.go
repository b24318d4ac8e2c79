package harness

import (
	"strings"
	"testing"
)

func TestProgram_FiguresAreOfWhatWasMeasured(t *testing.T) {
	r, all, err := parseProgram([]byte(`{"answers":100,"all":150,"failed":1,"seconds":2,` +
		`"user_us":300,"system_us":100,"p50_us":5,"p99_us":9}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Rate != 50 || all != 150 || r.Client.Total != 4 || r.Reads.P99 != 9 || r.Failed() != 1 {
		t.Errorf("%v a second, %d in all, %v µs, p99 %v, %d failed", r.Rate, all, r.Client.Total,
			r.Reads.P99, r.Failed())
	}
	for _, text := range []string{"", "x", `{"answers":0,"all":5,"seconds":1}`,
		`{"answers":7,"all":5,"seconds":1}`} {
		if _, _, err := parseProgram([]byte(text)); err == nil {
			t.Errorf("%q is good", text)
		}
	}
}

func TestProgram_IsNamedWhole(t *testing.T) {
	reg := &Registry{Peers: map[string]Starter{"a": nil}}
	for text, want := range map[string]bool{"go rueidis redis": true, "go rueidis": false, "": false} {
		r := row{Peer: "a", Generator: program, Program: text}
		if err := r.validate(reg); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	s := &Server{Name: "a", Base: "http://x", Others: []string{"redis://y"}}
	if got, err := s.baseOf("redis"); got != "redis://y" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := s.baseOf("memcache"); err == nil || !strings.Contains(err.Error(), "a has no memcache://") {
		t.Errorf("%v", err)
	}
}
