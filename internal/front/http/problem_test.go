package httpfront

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestProblemOf_Statuses(t *testing.T) {
	of := func(c source.Class) error { return fmt.Errorf("read: %w", &source.Error{Class: c}) }
	tests := []struct {
		err    error
		status int
	}{
		{of(source.Internal), 500}, {of(source.Unavailable), 503}, {of(source.Retry), 503},
		{of(source.Conflict), 409}, {of(source.Invalid), 400}, {of(source.Forbidden), 403},
		{of(source.Missing), 404}, {of(source.ReadOnly), 405}, {of(source.TooLarge), 413},
		{of(source.Full), 507}, {of(source.Unknown), 503}, {of(source.Precondition), 412},
		{of(source.NoRow), 404}, {of(source.Busy), 503}, {of(source.Busy + 1), 500},
		{fmt.Errorf("x: %w", resource.ErrNotCached), 504},
		{fmt.Errorf("x: %w", resource.ErrPrecondition), 412},
		{fmt.Errorf("x: %w", resource.ErrReadOnly), 405},
		{fmt.Errorf("x: %w", resource.ErrToken), 400},
		{fmt.Errorf("x: %w", row.ErrKey), 400},
		{fmt.Errorf("x: %w", &row.DecodeError{Path: "sal"}), 400},
		{context.DeadlineExceeded, 503},
		{errors.New("surprise"), 500},
	}
	for _, tt := range tests {
		if p := problemOf(tt.err); p.kind.status != tt.status {
			t.Errorf("problemOf(%v) has status %d, want %d", tt.err, p.kind.status, tt.status)
		}
	}
}

func TestProblemOf_TellsOnlyWhatSpeaksOfTheRequest(t *testing.T) {
	for c := source.Internal; c <= source.NoRow; c++ {
		err := &source.Error{Class: c, Code: "X1", Message: "user=secret host=db", Detail: "secret",
			Hint: "secret", Err: errors.New("secret")}
		p := problemOf(err)
		body := p.append(nil, "", "/depts/10", "")
		tells := strings.Contains(string(body), "secret")
		if want := c == source.Conflict || c == source.Invalid; tells != want {
			t.Errorf("class %d: tells %v, want %v: %s", c, tells, want, body)
		}
		if !strings.Contains(string(body), `"code":"X1"`) {
			t.Errorf("class %d: the database's code is missing: %s", c, body)
		}
	}
	if p := problemOf(errors.New("dsn=secret")); strings.Contains(p.Error(), "secret") {
		t.Errorf("an unknown error is told: %q", p)
	}
}

func TestProblem_Document(t *testing.T) {
	p := problem{kind: kindConflict, detail: "duplicate \xff key", details: "Key (a)=(1)",
		code: "23505"}
	got := p.append(nil, "/api", "/api/depts/10", "")
	want := `{"type":"/api/-/problems/conflict","title":"Conflict","status":409,` +
		`"detail":"duplicate � key","instance":"/api/depts/10","code":"23505",` +
		`"message":"duplicate � key","details":"Key (a)=(1)",` +
		`"hint":"the detail names the constraint"}` + "\n"
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("problem (-want +got):\n%s", d)
	}
	p = problem{kind: kindNotFound}
	got = p.append(nil, "", "/x", "")
	if s := string(got); !strings.Contains(s, `"code":"HR404"`) ||
		!strings.Contains(s, `"details":null`) || !strings.Contains(s, `"hint":null`) {
		t.Errorf("a bare problem is %s", s)
	}
}

// TestErrorsPage_ListsEveryKind holds the table of problems and the page of the
// manual together.
func TestErrorsPage_ListsEveryKind(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| 3") || strings.HasPrefix(line, "| 4") ||
			strings.HasPrefix(line, "| 5") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	var want []string
	for _, k := range allKinds {
		want = append(want, fmt.Sprintf("| %d | `%s` | `%s` | %s | %s |",
			k.status, k.code(), k.Slug, k.Means, k.Hint))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/reference/errors.md (-want +got):\n%s", d)
	}
}

func TestAllKinds_OncePerSlugInOrder(t *testing.T) {
	seen := map[string]bool{}
	last := 0
	for _, k := range allKinds {
		if seen[k.Slug] || k.status < last || k.Means == "" {
			t.Errorf("kind %s: twice, out of order or without words", k.Slug)
		}
		seen[k.Slug] = true
		last = k.status
	}
	for _, slug := range front.Slugs() {
		if !seen[slug] {
			t.Errorf("there is no kind %s", slug)
		}
	}
}

func TestRetrySeconds(t *testing.T) {
	for in, want := range map[time.Duration]int{0: 1, time.Millisecond: 1, time.Second: 1,
		1100 * time.Millisecond: 2, -time.Second: 1} {
		if got := retrySeconds(in); got != want {
			t.Errorf("retrySeconds(%v) = %d, want %d", in, got, want)
		}
	}
}
