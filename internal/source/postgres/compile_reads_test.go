package postgres

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_QueriesOfWhatNoTableTells: a query is refused whose result depends on the
// catalogue, on statistics or on the session, and one that locks rows. What depends on
// settings of the session that hotrow makes is kept.
func TestPostgres_QueriesOfWhatNoTableTells(t *testing.T) {
	t.Parallel()
	s := newSource(t, "CREATE TABLE d (id int PRIMARY KEY, at timestamptz, s text)")
	compile := func(query string) error {
		_, err := s.Compile(t.Context(), &source.Spec{Name: "q", Query: query,
			Depends: []source.Dep{{Table: "d"}}})
		return err
	}
	for _, expr := range []string{"obj_description(d.id)", "col_description(d.id, 1)",
		"shobj_description(d.id, 'pg_role')",
		"has_table_privilege('d', 'SELECT')", "pg_has_role('postgres', 'USAGE')", "to_regclass(s)::text",
		"pg_get_viewdef(d.id)", "pg_table_is_visible(d.id)", "current_setting('work_mem')",
		"current_user", "session_user",
		"current_role", "current_schema", "current_database()", "pg_backend_pid()", "inet_client_addr()",
		"pg_stat_get_numscans(d.id)", "pg_relation_size(d.id)", "row_security_active('d')"} {
		err := compile("SELECT id, " + expr + " AS v FROM d WHERE id = :key")
		if err == nil || !strings.Contains(err.Error(), "change") {
			t.Errorf("%s: %v, want that it is refused", expr, err)
		}
	}
	for _, expr := range []string{"to_char(at, 'YYYY')", "to_timestamp(s, 'YYYY')", "to_tsvector('english', s)",
		"date_trunc('day', at)", "timezone('UTC', at)", "age(at, at)", "pg_typeof(at)::text", "concat(s, id)"} {
		if err := compile("SELECT id, " + expr + " AS v FROM d WHERE id = :key"); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
	for _, lock := range []string{"FOR UPDATE", "FOR SHARE", "FOR KEY SHARE SKIP LOCKED"} {
		err := compile("SELECT id FROM d WHERE id = :key " + lock)
		if err == nil || !strings.Contains(err.Error(), "locks rows") {
			t.Errorf("%s: %v, want that it is refused", lock, err)
		}
	}
}
