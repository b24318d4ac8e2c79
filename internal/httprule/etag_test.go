package httprule

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntityTags(t *testing.T) {
	tests := []struct {
		lines []string
		want  []string
		ok    bool
	}{
		{nil, nil, true},
		{[]string{"*"}, []string{"*"}, true},
		{[]string{`"a"`}, []string{`"a"`}, true},
		{[]string{` "a" , W/"b",,"c,d" `}, []string{`"a"`, `W/"b"`, `"c,d"`}, true},
		{[]string{`"a"`, `"b"`}, []string{`"a"`, `"b"`}, true},
		{[]string{`""`}, []string{`""`}, true},
		{[]string{""}, nil, false},
		{[]string{"a"}, nil, false},
		{[]string{`"a`}, nil, false},
		{[]string{`"a" "b"`}, nil, false},
		{[]string{`"a b"`}, nil, false},
		{[]string{`w/"a"`}, nil, false},
		{[]string{`*, "a"`}, nil, false},
	}
	for _, tt := range tests {
		got, ok := EntityTags(http.Header{"If-Match": tt.lines}, "If-Match")
		if ok != tt.ok || !cmp.Equal(got, tt.want) {
			t.Errorf("EntityTags(%q) = %q, %v; want %q, %v", tt.lines, got, ok, tt.want, tt.ok)
		}
	}
}
