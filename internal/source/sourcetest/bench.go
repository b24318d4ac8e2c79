package sourcetest

import (
	"context"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Bench measures loads, lists and writes of documents. open gives an empty database that
// ends with the benchmark.
func Bench(b *testing.B, open func(b *testing.B) Env) {
	env := open(b)
	env.Exec(b, (&suite{env: env}).schema()...)
	env.Exec(b, bulkInsert(1, 1100))
	plan := func(spec *source.Spec) source.Plan {
		if spec.Name == "" {
			spec.Name = spec.Table
		}
		p, err := env.Source.Compile(context.Background(), spec)
		if err != nil {
			b.Fatal(err)
		}
		return p
	}
	flat, nested := plan(&source.Spec{Table: "big"}), plan(depts())
	keys := func(n int) []row.Key {
		out := make([]row.Key, n)
		for i := range out {
			out[i] = row.JoinKey(itoa(i + 1))
		}
		return out
	}
	for name, read := range map[string]func(context.Context) (int, error){
		"LoadFlat":   loads(flat, "7"),
		"LoadAbsent": loads(flat, "5000"),
		"LoadMany":   loads(flat, keys(64)...),
		"LoadNested": loads(nested, "10"),
		"LoadDepts":  loads(nested, "10", "20", "30", "40"),
		"List": func(ctx context.Context) (int, error) {
			out, err := flat.List(ctx, nil, 100)
			return len(out), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				if n, err := read(b.Context()); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
	}
	benchWrites(b, flat, nested)
}

// cpu reports allocations, and the time of the processor that an operation takes in this
// process: on a busy machine the clock says little.
func cpu(b *testing.B) (end func()) {
	b.ReportAllocs()
	before := cpuTime()
	return func() { b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op") }
}

// loads returns a function that loads keys.
func loads(p source.Plan, keys ...row.Key) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		out, err := p.Load(ctx, keys)
		return len(out), err
	}
}

// benchWrites measures writes of a document that is there, as it is and as another.
func benchWrites(b *testing.B, flat, nested source.Plan) {
	for _, test := range []struct {
		name   string
		plan   source.Plan
		key    row.Key
		bodies []string
	}{
		{"WriteFlat", flat, "7", []string{`{"name":"a"}`, `{"name":"b"}`}},
		{"WriteNested", nested, "20", []string{
			`{"deptName":"A","emps":[{"empNo":7566,"empName":"A"},{"empNo":1,"empName":"X"}]}`,
			`{"deptName":"B","emps":[{"empNo":7566,"empName":"B"},{"empNo":1,"empName":"Y"}]}`}},
	} {
		b.Run(test.name, func(b *testing.B) {
			defer cpu(b)()
			for i := 0; b.Loop(); i++ {
				in, err := test.plan.Shape().DecodeJSON([]byte(test.bodies[i%2]))
				if err != nil {
					b.Fatal(err)
				}
				_, err = test.plan.Write(b.Context(),
					&source.Write{Op: source.OpReplace, Key: test.key, Input: in})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
