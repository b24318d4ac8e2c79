package httpfront

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/front"
)

// A hit with an Origin allocates nothing, whether its page may read or not.
func TestCORS_HitAllocatesNothing(t *testing.T) {
	for _, on := range []func(*Options){named, anyPage, func(*Options) {}} {
		site := newServer(t, on)
		site.hot("/depts/10")
		for _, origin := range []string{listed, unlisted, "null"} {
			s := newStepper(t, site.h)
			in := []byte("GET /depts/10 HTTP/1.1\r\nHost: localhost\r\nOrigin: " + origin + "\r\n\r\n")
			if n := s.allocs(t, in, func(got []byte) bool { return len(got) >= 100 }); n != 0 {
				t.Errorf("a hit from %s with %v allocates %v times", origin, site.h.live.Load().Origins, n)
			}
		}
	}
}

// BenchmarkLoop_Origin is a hit of a page, by what the origins are.
func BenchmarkLoop_Origin(b *testing.B) {
	for name, on := range map[string]func(*Options){"off": func(*Options) {}, "named": named, "any": anyPage} {
		b.Run("origins="+name, func(b *testing.B) {
			set, _ := openSet(b)
			o := Options{Resources: set}
			on(&o)
			h := New(o)
			_, _ = listStepper(b, h) // memory has them
			in := []byte("GET /depts/10 HTTP/1.1\r\nHost: localhost\r\nOrigin: " + listed + "\r\n\r\n")
			newStepper(b, h).bench(b, in, 1)
		})
	}
}

// What a preflight is allowed is what it asks for, as names of headers.
func FuzzAsked(f *testing.F) {
	for _, s := range []string{"", "authorization,content-type", " a ,\tb,,", "*", "a b", "x:y", "a\r\nSet-Cookie: b",
		"é", strings.Repeat("a,", 40), strings.Repeat("a", 300), "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		got := string(appendAsked(nil, list))
		if got == "" {
			return
		}
		names := strings.Split(got, ", ")
		if len(names) > front.AskedHeaders {
			t.Fatalf("%d names", len(names))
		}
		rest := "," + list + ","
		for _, name := range names {
			const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			if strings.Trim(name, "!#$%&'*+-.^_`|~0123456789"+letters) != "" || name == "" ||
				name == "*" || !strings.Contains(rest, name) {
				t.Fatalf("%q is allowed of %q", name, list)
			}
		}
	})
}
