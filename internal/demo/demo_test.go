package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
)

// open makes a demo and returns its resources, compiled as its configuration
// says.
func open(t *testing.T, o Options) map[string]source.Plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo.db")
	if err := Create(t.Context(), path, o); err != nil {
		t.Fatal(err)
	}
	src, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	cfg, warnings, err := config.Parse("demo", YAML("sqlite:"+path), nil)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("configuration: %v, warnings %v", err, warnings)
	}
	return compile(t, cfg, src)
}

// compile compiles every resource of a configuration.
func compile(t *testing.T, cfg *config.Config, src source.Source) map[string]source.Plan {
	t.Helper()
	specs, err := cfg.Specs()
	if err != nil {
		t.Fatal(err)
	}
	plans := make(map[string]source.Plan)
	for _, s := range specs {
		p, err := src.Compile(t.Context(), s.Spec)
		if err != nil {
			t.Fatal(err)
		}
		plans[s.Name] = p
	}
	return plans
}

// document returns a document as a front would send it.
func document(t *testing.T, p source.Plan, key row.Key) []byte {
	t.Helper()
	loaded, err := p.Load(t.Context(), []row.Key{key})
	if err != nil {
		t.Fatal(err)
	}
	if !loaded[0].Found() {
		t.Fatalf("no document %s", key)
	}
	return p.Shape().AppendJSON(nil, loaded[0].Values)
}

func TestCreate_DocumentsAreThoseOfRestTest(t *testing.T) {
	plans := open(t, Options{})
	want := `{"deptNumber":10,"deptName":"ACCOUNTING","deptLocation":"NEW YORK","emps":[` +
		`{"empNo":7782,"empName":"CLARK","job":"MANAGER","mgr":7839,` +
		`"hiredate":"1981-06-09T00:00:00Z","sal":2450,"comm":null,"deptNumber":10},` +
		`{"empNo":7839,"empName":"KING","job":"PRESIDENT",` +
		`"hiredate":"1981-11-17T00:00:00Z","sal":5000,"comm":null,"deptNumber":10},` +
		`{"empNo":7934,"empName":"MILLER","job":"CLERK","mgr":7782,` +
		`"hiredate":"1982-01-23T00:00:00Z","sal":1300,"comm":null,"deptNumber":10}]}`
	if diff := cmp.Diff(want, string(document(t, plans["depts"], "10"))); diff != "" {
		t.Errorf("depts/10 (-want +got):\n%s", diff)
	}
	var empty struct{ Emps []any }
	if err := json.Unmarshal(document(t, plans["depts"], "40"), &empty); err != nil ||
		empty.Emps == nil || len(empty.Emps) != 0 {
		t.Errorf("depts/40: got emps %v, %v, want []", empty.Emps, err)
	}
	want = `{"empNo":7839,"empName":"KING","job":"PRESIDENT",` +
		`"hiredate":"1981-11-17T00:00:00Z","sal":5000,"comm":null,"deptNumber":10}`
	if diff := cmp.Diff(want, string(document(t, plans["emps"], "7839"))); diff != "" {
		t.Errorf("emps/7839 (-want +got):\n%s", diff)
	}
}

func TestCreate_HasTenThousandUsers(t *testing.T) {
	plans := open(t, Options{})
	type user struct{ ID, Name, Mail string }
	seen := make(map[string]bool)
	for i := range Users {
		seen[strconv.Itoa(i)] = false
	}
	var after *row.Key
	for {
		page, err := plans["users"].List(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page {
			var u user
			body := plans["users"].Shape().AppendJSON(nil, l.Values)
			if err := json.Unmarshal(body, &u); err != nil {
				t.Fatal(err)
			}
			if told, known := seen[u.ID]; told || !known || u.Name == "" || len(u.Mail) < 10 {
				t.Errorf("user %s", body)
			}
			seen[u.ID] = true
		}
		if len(page) < 1000 {
			break
		}
		after = &page[len(page)-1].Key
	}
	for id, told := range seen {
		if !told {
			t.Errorf("no user %s", id)
		}
	}
}

func TestCreate_ScaledDocumentsHaveTheSizeOfRestTest(t *testing.T) {
	var told []int
	const scale = 2000
	plans := open(t, Options{Scale: scale, Progress: func(done, total int) {
		if total != scale {
			t.Errorf("progress: total %d", total)
		}
		told = append(told, done)
	}})
	if diff := cmp.Diff([]int{900, 1800, 2000}, told); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	least, most := 1<<20, 0
	for i := range scale {
		body := document(t, plans["depts"], row.Key(strconv.Itoa(FirstDept+i)))
		least, most = min(least, len(body)), max(most, len(body))
		var d struct {
			Emps []struct{ EmpNo, DeptNumber int }
		}
		if err := json.Unmarshal(body, &d); err != nil || len(d.Emps) != EmpsPerDept {
			t.Fatalf("%d employees, %v: %s", len(d.Emps), err, body)
		}
	}
	t.Logf("documents have %d to %d bytes", least, most)
	if least < 1500 || most > 1800 {
		t.Errorf("documents have %d to %d bytes, want 1500 to 1800", least, most)
	}
}

func TestCreate_IsTheSameEachTime(t *testing.T) {
	a, b := open(t, Options{Scale: 5}), open(t, Options{Scale: 950})
	for resource, key := range map[string]row.Key{"depts": "1000004", "users": "9999"} {
		x, y := document(t, a[resource], key), document(t, b[resource], key)
		if diff := cmp.Diff(string(x), string(y)); diff != "" {
			t.Errorf("%s/%s differs:\n%s", resource, key, diff)
		}
	}
}

func TestCreate_LeavesWhatIsThereAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.db")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Create(t.Context(), path, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want fs.ErrExist", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("the file is now %q, %v", b, err)
	}
	if err := Create(t.Context(), path+"2", Options{Scale: -1}); err == nil {
		t.Error("a negative scale is taken")
	}
}

func TestCreate_LeavesNothingWhenItIsStopped(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := Create(ctx, filepath.Join(dir, "demo.db"), Options{Scale: 5000,
		Progress: func(done, _ int) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestExample_ServesTheDemo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.db")
	if err := Create(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	src, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	env := []string{"DATABASE_URL=sqlite:" + path}
	cfg, _, err := config.Load("../../hotrow.example.yaml", env)
	if err != nil {
		t.Fatal(err)
	}
	example, own := compile(t, cfg, src), open(t, Options{})
	for resource, key := range map[string]row.Key{"depts": "30", "emps": "7900", "users": "7"} {
		want, got := document(t, own[resource], key), document(t, example[resource], key)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s/%s (-demo +example):\n%s", resource, key, diff)
		}
	}
}

func TestYAML_TakesAnyPath(t *testing.T) {
	for _, url := range []string{`sqlite:/a "b"/${HOME}\d.db`, "sqlite:/tmp/é 1.db"} {
		c, _, err := config.Parse("demo", YAML(url), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Sources["main"].URL.Reveal(); got != url {
			t.Errorf("got %q, want %q", got, url)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	for i := range b.N {
		start := time.Now()
		path := filepath.Join(b.TempDir(), strconv.Itoa(i)+".db")
		if err := Create(b.Context(), path, Options{Scale: 10_000}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(10_000/time.Since(start).Seconds(), "depts/s")
	}
}
