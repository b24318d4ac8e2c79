package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// deferredSchema has deferred triggers that change rows: of df itself, and of deep by way of
// far, which a trigger of deep writes to. Each writer's own rows must be as at the end.
var deferredSchema = []string{
	`CREATE TABLE plain (id int PRIMARY KEY, up int REFERENCES plain DEFERRABLE INITIALLY DEFERRED)`,
	`CREATE TABLE df (id int PRIMARY KEY, n int NOT NULL DEFAULT 0, bad text)`,
	`CREATE TABLE kid (id int PRIMARY KEY, df int REFERENCES df DEFERRABLE INITIALLY DEFERRED)`,
	`CREATE FUNCTION df_more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.bad = 'no kid' AND NOT EXISTS (SELECT FROM kid WHERE df = NEW.id) THEN
			RAISE EXCEPTION 'df % has no kid', NEW.id USING ERRCODE = 'check_violation'; END IF;
		UPDATE df SET n = n + 1 WHERE id = NEW.id AND n = NEW.n; RETURN NULL; END $$`,
	`CREATE CONSTRAINT TRIGGER df_late AFTER INSERT OR UPDATE ON df
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.n < 5) EXECUTE FUNCTION df_more()`,
	`CREATE TABLE deep (id int PRIMARY KEY, n int NOT NULL DEFAULT 0)`,
	`CREATE TABLE far (id int)`,
	`CREATE FUNCTION deep_far() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO far VALUES (NEW.id); RETURN NULL; END $$`,
	`CREATE TRIGGER deep_far AFTER INSERT ON deep FOR EACH ROW EXECUTE FUNCTION deep_far()`,
	`CREATE FUNCTION far_deep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		UPDATE deep SET n = 7 WHERE id = NEW.id; RETURN NULL; END $$`,
	`CREATE CONSTRAINT TRIGGER far_late AFTER INSERT ON far
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION far_deep()`,
	`CREATE TABLE part (id int PRIMARY KEY, n int NOT NULL DEFAULT 0) PARTITION BY RANGE (id)`,
	`CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10)`,
	`CREATE FUNCTION part_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		UPDATE part SET n = 3 WHERE id = NEW.id; RETURN NULL; END $$`,
	`CREATE CONSTRAINT TRIGGER part_late AFTER INSERT ON part1
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION part_late()`,
}

// TestPostgres_WriteHasWhatDeferredTriggersDo: the document of a write, from which its
// entity tag is made, is what COMMIT leaves.
func TestPostgres_WriteHasWhatDeferredTriggersDo(t *testing.T) {
	s := newSource(t, deferredSchema...)
	df := source.Spec{Name: "df", Table: "df", Embeds: []source.Embed{{Name: "kids",
		On: []string{"df"}, Spec: &source.Spec{Table: "kid"}}}}
	for _, tt := range []struct {
		spec source.Spec
		op   source.Op
		key  row.Key
		body string
		late bool
	}{
		{df, source.OpCreate, "", `{"id":1,"bad":"no kid","kids":[{"id":1},{"id":2}]}`, true},
		{df, source.OpReplace, "1", `{"id":1,"n":2,"kids":[{"id":3}]}`, true},
		{df, source.OpMerge, "1", `{"n":0}`, true},
		{source.Spec{Table: "deep"}, source.OpCreate, "", `{"id":1}`, true},
		{source.Spec{Table: "part"}, source.OpCreate, "", `{"id":1}`, true},
		{source.Spec{Table: "plain"}, source.OpCreate, "", `{"id":1}`, false},
		{source.Spec{Table: "plain"}, source.OpMerge, "1", `{"up":1}`, false},
	} {
		what := fmt.Sprint(tt.spec.Table, " ", tt.body)
		if tt.spec.Name == "" {
			tt.spec.Name = tt.spec.Table
		}
		p := mustCompile(t, s, &tt.spec)
		done, err := p.Write(t.Context(),
			&source.Write{Op: tt.op, Key: tt.key, Input: input(t, p, tt.body)})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if got, want := jsonOf(p, done.Loaded), jsonOf(p, mustLoad(t, p, "1")[0]); got != want {
			t.Errorf("%s: the write has %s, the database %s", what, got, want)
		}
		if late := p.late.any.Load(); late != tt.late {
			t.Errorf("%s: deferred triggers are run before the read: %v", what, late)
		}
	}
}

// TestPostgres_DeferredTriggersKeepTheirErrors: what fails at the end of a write fails with
// the error that COMMIT would have, and leaves nothing.
func TestPostgres_DeferredTriggersKeepTheirErrors(t *testing.T) {
	s := newSource(t, deferredSchema...)
	p := mustCompile(t, s, &source.Spec{Name: "df", Table: "df", Embeds: []source.Embed{{
		Name: "kids", On: []string{"df"}, Spec: &source.Spec{Table: "kid"}}}})
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpCreate,
		Input: input(t, p, `{"id":1,"bad":"no kid"}`)})
	if source.ClassOf(err) != source.Invalid || !strings.Contains(err.Error(), "df 1 has no kid") {
		t.Errorf("got %v, class %v", err, source.ClassOf(err))
	}
	k := mustCompile(t, s, &source.Spec{Name: "kid", Table: "kid"})
	for _, any := range []bool{false, true} { // the second with SET CONSTRAINTS
		if any {
			mustExec(t, s, `CREATE CONSTRAINT TRIGGER kid_late AFTER DELETE ON kid
				DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION far_deep()`)
			k.late.asked.Store(0)
		}
		_, err = k.Write(t.Context(), &source.Write{Op: source.OpCreate,
			Input: input(t, k, `{"id":1,"df":9}`)})
		if source.ClassOf(err) != source.Conflict || k.late.any.Load() != any {
			t.Errorf("a foreign key at the end: %v, class %v, %v", err, source.ClassOf(err), any)
		}
	}
	for _, l := range mustLoad(t, p, "1", "9") {
		if l.Found() {
			t.Errorf("%s is there", jsonOf(p, l))
		}
	}
}
