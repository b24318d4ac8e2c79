package httprule

import (
	"net/http"
	"testing"
)

func TestBearer(t *testing.T) {
	tests := []struct {
		lines []string
		want  string
		ok    bool
	}{
		{[]string{"Bearer abc"}, "abc", true},
		{[]string{"bearer   abc"}, "abc", true},
		{[]string{"Bearer"}, "", false},
		{[]string{"Bearer "}, "", false},
		{[]string{"Basic abc"}, "", false},
		{[]string{"Bearer a", "Bearer b"}, "", false},
		{nil, "", false},
	}
	for _, tt := range tests {
		h := http.Header{"Authorization": tt.lines}
		if got, ok := BearerToken(h); ok != tt.ok || ok && got != tt.want {
			t.Errorf("BearerToken(%q) = %q, %v; want %q, %v", tt.lines, got, ok, tt.want, tt.ok)
		}
	}
}
