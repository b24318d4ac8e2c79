package front

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestFailureOf(t *testing.T) {
	secret := errors.New("password=secret")
	tests := []struct {
		err  error
		want Failure
	}{
		{secret, Failure{Slug: "internal", Logged: true}},
		{fmt.Errorf("x: %w", row.ErrKey), Failure{Slug: "bad-key", Text: "x: " + row.ErrKey.Error()}},
		{context.Canceled, Failure{Slug: "database-unavailable", Logged: true}},
		{&source.Error{Class: source.Busy, Err: context.DeadlineExceeded},
			Failure{Slug: "database-busy", Logged: true}},
		{fmt.Errorf("write: %w", resource.ErrReadOnly), Failure{Slug: "read-only"}},
		{&source.Error{Class: source.ReadOnly, Message: "standby db2"},
			Failure{Slug: "read-only", Logged: true}},
		{&source.Error{Class: source.Unavailable, Message: "host db1", After: time.Second,
			Err: secret}, Failure{Slug: "database-unavailable", After: time.Second, Logged: true}},
		{fmt.Errorf("write: %w", &source.Error{Class: source.Conflict, Code: "23505",
			Message: "twice", Detail: "key 10", Hint: "another", Err: secret}),
			Failure{Slug: "conflict", Text: "twice", Details: "key 10", Hint: "another",
				Code: "23505"}},
		{&source.Error{Class: 250, Message: "host db1"}, Failure{Slug: "internal", Logged: true}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, FailureOf(tt.err)); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.err, d)
		}
	}
	if len(classRules) != int(source.Busy)+1 {
		t.Errorf("%d rules for %d classes", len(classRules), source.Busy+1)
	}
	for class, r := range classRules {
		if r.slug == "" {
			t.Errorf("class %d has no rule", class)
		}
	}
}

func TestDurations_Buckets(t *testing.T) {
	for took, want := range map[time.Duration]int{-1: 0, 0: 0, 10 * time.Microsecond: 0,
		10*time.Microsecond + 1: 1, time.Second: 15, 10 * time.Second: len(Buckets) - 1,
		time.Hour: len(Buckets)} {
		var d Durations
		var h Histogram
		d.Add(took, 3)
		d.AddTo(&h)
		d.AddTo(&h)
		if len(h.Buckets) != len(Buckets)+1 || h.Buckets[want] != 6 ||
			math.Abs(h.Seconds-6*max(took, 0).Seconds()) > 1e-9 {
			t.Errorf("twice three times %v: %+v, want 6 in bucket %d", took, h, want)
		}
	}
}

func TestClip(t *testing.T) {
	tests := []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc..."}, {"aé", 2, "a..."}, {"\x80\x80\x80", 2, "..."},
		{"a\xff", 9, "a\uFFFD"},
	}
	for _, tt := range tests {
		if got := Clip(tt.in, tt.n); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestLimiter_TenASecond(t *testing.T) {
	var l Limiter
	now := time.Unix(1000, 0)
	count := func() (n int) {
		for range 100 {
			if l.Allow(now) {
				n++
			}
		}
		return n
	}
	if n := count(); n != 10 {
		t.Errorf("%d pass in a second, want 10", n)
	}
	now = now.Add(time.Second)
	if n := count(); n != 10 {
		t.Errorf("%d pass in the next second, want 10", n)
	}
}

func TestIsLocal(t *testing.T) {
	for _, tt := range []struct {
		a    net.Addr
		want bool
	}{
		{nil, false}, {&net.UnixAddr{Name: "/run/x", Net: "unix"}, true},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, true}, {&net.TCPAddr{IP: net.IPv6loopback}, true},
		{&net.TCPAddr{IP: net.ParseIP("::ffff:127.0.0.1")}, true}, {&net.TCPAddr{}, false},
		{&net.TCPAddr{IP: net.IPv4zero}, false}, {&net.UDPAddr{IP: net.IPv6loopback}, false},
	} {
		if got := IsLocal(tt.a); got != tt.want {
			t.Errorf("IsLocal(%v) = %v, want %v", tt.a, got, tt.want)
		}
	}
}
