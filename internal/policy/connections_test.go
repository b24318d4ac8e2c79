package policy

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// openers are the calls that open a connection to a database, or make what opens them, and the
// files that may call them: there every connection gets its settings, from one list.
var openers = map[string][]string{
	"pgx.Connect":                 nil,
	"pgx.ConnectConfig":           {"internal/source/postgres/feed/connect.go"},
	"pgx.ConnectWithOptions":      nil,
	"pgconn.Connect":              nil,
	"pgconn.ConnectConfig":        {"internal/source/postgres/feed/connect.go"},
	"pgconn.ConnectWithOptions":   nil,
	"pgxpool.New":                 nil,
	"pgxpool.NewWithConfig":       {"internal/source/postgres/feed/connect.go"},
	"sql.Open":                    nil,
	"sql.OpenDB":                  {"internal/source/mysql/settings.go"},
	"replication.NewBinlogSyncer": {"internal/source/mysql/binlog/stream.go"},
	"driverpkg.NewConnector":      {"internal/source/sqlite/conn.go"},
	"stdlib.OpenDB":               nil,
	"stdlib.OpenDBFromPool":       nil,
}

// TestConnections_AreMadeInOnePlace: what a session must not inherit from roles, databases,
// URLs or the environment is pinned on every connection (feed.Connect, mysql.Source.open).
func TestConnections_AreMadeInOnePlace(t *testing.T) {
	used := make(map[string]bool)
	for _, f := range goFiles(t) {
		if r, _ := roomOf(f.dir()); f.test || r.tool || strings.HasPrefix(f.path, "bench/") {
			continue
		}
		calls(f, func(call *ast.CallExpr, _ []ast.Node) {
			name := selector(call.Fun)
			may, opens := openers[name]
			if !opens {
				return
			}
			if !slices.Contains(may, f.path) {
				t.Errorf("%s:%d: %s opens a connection that has none of the settings which every"+
					" connection must have", f.path, f.line(call.Pos()), name)
			}
			used[name+" "+f.path] = true
		})
	}
	for name, files := range openers {
		for _, path := range files {
			if !used[name+" "+path] {
				t.Errorf("%s does not call %s any more", path, name)
			}
		}
	}
}
