package memcached

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dbtest.Wrap(m)) }

// users are the values of the format that MySQL's memcached plugin has.
var users = source.ValueSpec{
	Format: source.ValueFields, Fields: []string{"name", "mail"}, Prefix: "user:",
}

// openSource opens the server that url names until the test ends.
func openSource(t testing.TB, url string, o Options) *Source {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustCompile(t testing.TB, s *Source, v source.ValueSpec) *plan {
	t.Helper()
	p, err := s.Compile(t.Context(), &source.Spec{Name: "test", Value: &v})
	if err != nil {
		t.Fatal(err)
	}
	return p.(*plan)
}

// newPlan compiles v for a server of the test's own.
func newPlan(t testing.TB, v source.ValueSpec, args ...string) (*plan, *dbtest.MemcachedServer) {
	t.Helper()
	server := dbtest.NewMemcached(t, args...)
	return mustCompile(t, openSource(t, server.URL(), Options{}), v), server
}

func mustLoad(t testing.TB, p *plan, keys ...row.Key) []source.Loaded {
	t.Helper()
	loaded, err := p.Load(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != len(keys) {
		t.Fatalf("%d documents for %d keys", len(loaded), len(keys))
	}
	return loaded
}

// loadJSON returns one document as JSON, or "absent".
func loadJSON(t testing.TB, p *plan, key row.Key) string {
	t.Helper()
	return jsonOf(p, mustLoad(t, p, key)[0])
}

// jsonOf returns a document as JSON, or "absent".
func jsonOf(p *plan, l source.Loaded) string {
	if !l.Found() {
		return "absent"
	}
	return string(p.Shape().AppendJSON(nil, l.Values))
}

func tryWrite(t testing.TB, p *plan, op source.Op, key row.Key, body string) (
	*source.Written, error,
) {
	t.Helper()
	w := &source.Write{Op: op, Key: key}
	if body != "" {
		var err error
		if w.Input, err = p.Shape().DecodeJSON([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	return p.Write(t.Context(), w)
}

func mustWrite(t testing.TB, p *plan, op source.Op, key row.Key, body string) *source.Written {
	t.Helper()
	done, err := tryWrite(t, p, op, key, body)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// within polls until ok, a minute at most.
func within(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, ok)
}
