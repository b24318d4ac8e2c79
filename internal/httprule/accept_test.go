package httprule

import "testing"

func TestParseQuality(t *testing.T) {
	tests := []struct {
		in   string
		want int
		ok   bool
	}{
		{"1", 1000, true}, {"0", 0, true}, {"0.5", 500, true}, {"0.123", 123, true},
		{"1.000", 1000, true}, {"0.", 0, true}, {"1.001", 1001, false}, {"0.1234", 0, false},
		{"2", 0, false}, {"", 0, false}, {".5", 0, false}, {"-0", 0, false}, {"0.x", 0, false},
	}
	for _, tt := range tests {
		got, ok := parseQuality(tt.in)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("parseQuality(%q) = %d, %v; want %d, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzAccept holds that no header breaks the negotiation, that its answer is one
// of the offers, and that an offer which is preferred alone is taken.
func FuzzAccept(f *testing.F) {
	for _, s := range []string{"*/*", "application/json;q=0.5, */*;q=0", "a/b/*", ";q=", "/*",
		"application/json;q=1.000;x=y", ",,,", "application/json/*"} {
		f.Add(s)
	}
	offers := []string{"application/json", "application/vnd.msgpack"}
	f.Fuzz(func(t *testing.T, s string) {
		if i, ok := Negotiate([]string{s}, offers); i < 0 || i >= len(offers) {
			t.Fatalf("Negotiate(%q) = %d, %v", s, i, ok)
		}
		lines := []string{s, "application/vnd.msgpack;q=1, application/json;q=0, */*;q=0"}
		if i, ok := Negotiate(lines[1:], offers); !ok || i != 1 {
			t.Fatalf("Negotiate(%q) = %d, %v", lines[1:], i, ok)
		}
	})
}
