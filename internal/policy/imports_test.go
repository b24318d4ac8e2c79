package policy

import (
	"go/build"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// table is where the house is written down.
const table = "internal/policy/imports_table_test.go"

// TestImports_FollowTheHouse compares what packages import with the table.
func TestImports_FollowTheHouse(t *testing.T) {
	for _, f := range goFiles(t) {
		r, ok := roomOf(f.dir())
		if !ok {
			continue // TestHouse_ListsThePackagesThatExist says so
		}
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := refuseImport(r, f.test, path); why != "" {
				t.Errorf("%s:%d imports %s: %s", f.path, f.line(spec.Pos()), path, why)
			}
		}
	}
}

// refuseImport says why a package may not import path, or "".
func refuseImport(r room, test bool, path string) string {
	switch {
	case isStandard(path):
		return ""
	case path == module || strings.HasPrefix(path, module+"/"):
		return refuseOurs(r, test, strings.TrimPrefix(path, module+"/"))
	}
	return refuseTheirs(r, test, path)
}

// refuseOurs judges the import of one of our packages.
func refuseOurs(r room, test bool, dir string) string {
	name := strings.TrimPrefix(dir, "internal/")
	if dir == r.dir && test { // an external test package
		return ""
	}
	if slices.Contains(r.knows, name) || (test || r.tool) &&
		(slices.Contains(r.tests, name) || slices.Contains(lightTools, name)) {
		return ""
	}
	why := "the line of " + r.dir + " in " + table + " does not have " + name
	if test {
		return why + " under knows or tests"
	}
	return why + " under knows; data goes left to right, and no package knows one to its left"
}

// refuseTheirs judges the import of a third-party package.
func refuseTheirs(r room, test bool, path string) string {
	if covers(light, path) || covers(r.heavy, path) {
		return ""
	}
	if (test || r.tool) && (covers(lightTests, path) || covers(r.tests, path)) {
		return ""
	}
	for _, other := range house {
		switch {
		case !covers(other.heavy, path):
		case strings.HasPrefix(r.dir, other.dir+"/"):
			return "" // a part of the home
		default:
			return "this module lives in " + other.dir + " alone; ask that package"
		}
	}
	return "no line of " + table + " gives this module a home"
}

// covers reports whether path is in one of the modules, at any major version.
func covers(modules []string, path string) bool {
	return slices.ContainsFunc(modules, func(m string) bool {
		return path == m || strings.HasPrefix(path, m+"/")
	})
}

// isStandard reports whether path is in the standard library: its first
// element has no dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") || build.IsLocalImport(path)
}

// roomOf returns the line of a package.
func roomOf(dir string) (room, bool) {
	i := slices.IndexFunc(house, func(r room) bool { return r.dir == dir })
	if i < 0 {
		return room{}, false
	}
	return house[i], true
}

// TestHouse_ListsThePackagesThatExist keeps the table complete and free of
// packages that are only planned.
func TestHouse_ListsThePackagesThatExist(t *testing.T) {
	dirs := packageDirs(goFiles(t))
	for _, dir := range dirs {
		if _, ok := roomOf(dir); !ok {
			t.Errorf("package %s has no line in %s: give it one, at its place in the flow",
				dir, table)
		}
	}
	for _, r := range house {
		if !slices.Contains(dirs, r.dir) {
			t.Errorf("%s has a line for %s, which does not exist: "+
				"a line comes with the package's first code", table, r.dir)
		}
	}
}

// TestHouse_FlowsLeftToRight checks the table itself.
func TestHouse_FlowsLeftToRight(t *testing.T) {
	place, home := map[string]int{}, map[string]string{}
	for i, r := range house {
		name := strings.TrimPrefix(r.dir, "internal/")
		if _, twice := place[name]; twice {
			t.Errorf("%s has two lines", r.dir)
		}
		place[name] = i
		for _, m := range r.heavy {
			if other, twice := home[m]; twice {
				t.Errorf("%s is at home in %s and in %s; a heavy module has one home",
					m, other, r.dir)
			}
			home[m] = r.dir
		}
	}
	for i, r := range house {
		for _, name := range r.knows {
			j, ok := place[name]
			switch {
			case !ok:
				t.Errorf("%s may import %s, which has no line", r.dir, name)
			case j <= i:
				t.Errorf("%s may import %s, which stands to its left", r.dir, name)
			case house[j].tool && !r.tool && !strings.HasPrefix(r.dir, "cmd/"):
				t.Errorf("%s may import %s, which serves tests only", r.dir, name)
			}
		}
	}
}

func TestRefuseImport(t *testing.T) {
	r := room{
		dir: "internal/tier", knows: []string{"row"}, heavy: []string{"go.etcd.io/bbolt"},
		tests: []string{"tier/tiertest"},
	}
	tests := []struct {
		test bool
		path string
		ok   bool
	}{
		{false, "net/http", true},
		{false, module + "/internal/row", true},
		{false, module + "/internal/resource", false},
		{false, module + "/internal/tier/tiertest", false},
		{true, module + "/internal/tier/tiertest", true},
		{true, module + "/internal/tier", true},
		{false, "go.etcd.io/bbolt/errors", true},
		{false, "go.etcd.io/bboltly", false},
		{false, "github.com/jackc/pgx/v5", false},
		{false, "github.com/google/go-cmp/cmp", false},
		{true, "github.com/google/go-cmp/cmp", true},
		{false, "golang.org/x/sync/errgroup", true},
	}
	for _, tt := range tests {
		if why := refuseImport(r, tt.test, tt.path); (why == "") != tt.ok {
			t.Errorf("refuseImport(test=%v, %q) = %q, want allowed = %v",
				tt.test, tt.path, why, tt.ok)
		}
	}
}
