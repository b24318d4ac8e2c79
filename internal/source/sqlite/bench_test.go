package sqlite

import (
	"context"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

// BenchmarkLoad measures a miss: one flat row, and one with three children.
func BenchmarkLoad(b *testing.B) {
	path, _ := newFile(b, "WAL", "CREATE TABLE p (id integer PRIMARY KEY, v text)",
		"CREATE TABLE c (id integer PRIMARY KEY, p integer, v text)",
		"CREATE INDEX c_p ON c (p)", "INSERT INTO p VALUES (1, 'x')",
		"INSERT INTO c VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 1, 'c')")
	s := openTest(b, path, Options{})
	nested := []source.Embed{{Name: "cs", On: []string{"p"}, Spec: &source.Spec{Table: "c"}}}
	for name, embeds := range map[string][]source.Embed{"flat": nil, "nested": nested} {
		p := compile(b, s, &source.Spec{Table: "p", Embeds: embeds})
		b.Run("document="+name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context()) // as that of a request
			defer cancel()
			for b.Loop() {
				if _, err := p.Load(ctx, []row.Key{"1"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDocuments(b *testing.B) {
	sourcetest.Bench(b, func(b *testing.B) sourcetest.Env {
		path, c := newFile(b, "WAL")
		return sourcetest.Env{
			Source:  openTest(b, path, Options{}),
			Exec:    func(t testing.TB, statements ...string) { run(t, c, statements...) },
			Dialect: suiteDialect,
		}
	})
}

// BenchmarkFence measures a look for commits of other programs.
func BenchmarkFence(b *testing.B) {
	path, _ := newFile(b, "WAL", childSchema...)
	f := follow(b, openTest(b, path, Options{}), childWatch)
	for b.Loop() {
		if _, err := f.feed.Fence(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
