package httpfront

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
)

func TestParseDirectives(t *testing.T) {
	tests := []struct {
		lines []string
		want  directives
	}{
		{nil, directives{maxAge: -1}},
		{[]string{"no-cache"}, directives{noCache: true, maxAge: -1}},
		{[]string{"No-Cache, x=y"}, directives{noCache: true, maxAge: -1}},
		{[]string{"max-age=0"}, directives{noCache: true, maxAge: 0}},
		{[]string{"max-age=5"}, directives{maxAge: 5 * time.Second}},
		{[]string{`max-age="5"`}, directives{maxAge: 5 * time.Second}},
		{[]string{"max-age=-1"}, directives{maxAge: -1}},
		{[]string{"max-age=x, no-store"}, directives{maxAge: -1}},
		{[]string{"only-if-cached", "max-stale=60"}, directives{onlyIfCached: true, maxAge: -1}},
		{[]string{"max-age=9223372036854775807"},
			directives{maxAge: math.MaxInt64 / time.Second * time.Second}},
	}
	for _, tt := range tests {
		got := parseDirectives(strings.Join(tt.lines, ","))
		if got != tt.want {
			t.Errorf("parseDirectives(%q) = %+v, want %+v", tt.lines, got, tt.want)
		}
	}
}

func TestParsePrefer(t *testing.T) {
	tests := []struct {
		lines []string
		want  preferences
	}{
		{nil, preferences{}},
		{[]string{"return=minimal"}, preferences{minimal: true, given: "return=minimal"}},
		{[]string{"return=representation, return=minimal"},
			preferences{given: "return=representation"}},
		{[]string{`Return="minimal"; a=b`}, preferences{minimal: true, given: "return=minimal"}},
		{[]string{"return=headers-only"}, preferences{minimal: true, given: "return=headers-only"}},
		{[]string{"return=nothing, wait=2"}, preferences{wait: 2 * time.Second}},
		{[]string{"respond-async", "wait = 1"}, preferences{wait: time.Second}},
		{[]string{"wait=-1"}, preferences{}},
	}
	for _, tt := range tests {
		if got := parsePrefer(strings.Join(tt.lines, ",")); got != tt.want {
			t.Errorf("parsePrefer(%q) = %+v, want %+v", tt.lines, got, tt.want)
		}
	}
}

func TestMinPosition(t *testing.T) {
	tok := func(name, origin string, pos source.Position) resource.Token {
		return resource.Token{Source: name, Origin: origin, Pos: pos}
	}
	tests := []struct {
		lines []string
		want  resource.Token
		bad   bool
	}{
		{[]string{"hr1.main.7f.a; lag=0.004"}, tok("main", "7f", 10), false},
		{[]string{"hr1.other.7f.a"}, resource.Token{}, false},
		{[]string{"hr1.other.7f.a, hr1.main.7f.3"}, tok("main", "7f", 3), false},
		{[]string{"hr1.main.7f.9", "hr1.main.7f.3"}, tok("main", "7f", 9), false},
		{[]string{"hr1.main.7f.9", "hr1.main.8a.3"}, tok("main", "8a", 3), false},
		{[]string{"hr1.main.7f.9, ,"}, tok("main", "7f", 9), false},
		{[]string{"hr2.main.7f.9"}, resource.Token{}, true},
		{[]string{", ,"}, resource.Token{}, true},
		{[]string{"nonsense"}, resource.Token{}, true},
		{[]string{""}, resource.Token{}, true},
	}
	for _, tt := range tests {
		got, err := minPosition("main", strings.Join(tt.lines, ","))
		if got != tt.want || errors.Is(err, resource.ErrToken) != tt.bad {
			t.Errorf("minPosition(%q) = %v, %v; want %v, bad %v",
				tt.lines, got, err, tt.want, tt.bad)
		}
	}
}

func TestAppendPosition(t *testing.T) {
	tok := resource.Token{Source: "main", Origin: "7f3a", Pos: 0x16B3748}
	tests := []struct {
		lag  time.Duration
		want string
	}{
		{4 * time.Millisecond, "hr1.main.7f3a.16b3748; lag=0.004"},
		{0, "hr1.main.7f3a.16b3748; lag=0.000"},
		{-time.Second, "hr1.main.7f3a.16b3748; lag=0.000"},
		{90 * time.Second, "hr1.main.7f3a.16b3748; lag=90.000"},
	}
	for _, tt := range tests {
		got := string(appendPosition(nil, tok, tt.lag))
		if got != tt.want {
			t.Errorf("appendPosition(%v) = %q, want %q", tt.lag, got, tt.want)
		}
	}
}

func TestRequestID(t *testing.T) {
	long := string(make([]byte, 129))
	tests := []struct{ in, want string }{
		{"", ""}, {"a-1.B_2~:/+=@", "a-1.B_2~:/+=@"}, {"a b", ""}, {"a\r\nb", ""},
		{"<script>", ""}, {"\x1b[0m", ""}, {"é", ""}, {long, ""},
	}
	for _, tt := range tests {
		if got := requestID(tt.in); got != tt.want {
			t.Errorf("requestID(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
