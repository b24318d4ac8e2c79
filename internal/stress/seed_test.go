package stress

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// seedTables is the database of resttest: departments with their employees.
const seedTables = `
CREATE SEQUENCE dept_deptno_seq START 1000000;
CREATE TABLE dept (deptno int PRIMARY KEY DEFAULT nextval('dept_deptno_seq'), dname text, loc text);
CREATE TABLE emp (empno int PRIMARY KEY, ename text, job text, mgr int REFERENCES emp,
	hiredate date, sal int, comm int, deptno int REFERENCES dept);
CREATE INDEX emp_deptno_index ON emp (deptno);
INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', 'DALLAS'),
	(30, 'SALES', 'CHICAGO'), (40, 'OPERATIONS', 'BOSTON');
INSERT INTO emp VALUES
	(7839, 'KING', 'PRESIDENT', NULL, '1981-11-17', 5000, NULL, 10),
	(7566, 'JONES', 'MANAGER', 7839, '1981-04-02', 2975, NULL, 20),
	(7698, 'BLAKE', 'MANAGER', 7839, '1981-05-01', 2850, NULL, 30),
	(7782, 'CLARK', 'MANAGER', 7839, '1981-06-09', 2450, NULL, 10),
	(7788, 'SCOTT', 'ANALYST', 7566, '1982-12-09', 3000, NULL, 20),
	(7902, 'FORD', 'ANALYST', 7566, '1981-12-03', 3000, NULL, 20),
	(7499, 'ALLEN', 'SALESMAN', 7698, '1981-02-20', 1600, 300, 30),
	(7369, 'SMITH', 'CLERK', 7902, '1980-12-17', 800, NULL, 20),
	(7934, 'MILLER', 'CLERK', 7782, '1982-01-23', 1300, NULL, 10);`

// seedTriggers are those of resttest, with what it gets wrong: a comparison that
// is null when one side is, and nothing for TRUNCATE.
const seedTriggers = `
CREATE FUNCTION dept_notify_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF TG_OP = 'DELETE' THEN PERFORM pg_notify('events_dept', OLD.deptno::varchar);
	ELSE PERFORM pg_notify('events_dept', NEW.deptno::varchar); END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER dept_notify_event AFTER INSERT OR UPDATE OR DELETE ON dept
	FOR EACH ROW EXECUTE FUNCTION dept_notify_event();
CREATE FUNCTION emp_notify_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF TG_OP = 'DELETE' THEN
		PERFORM pg_notify('events_emp', OLD.empno::varchar);
		PERFORM pg_notify('events_dept', OLD.deptno::varchar);
	ELSIF TG_OP = 'INSERT' THEN
		PERFORM pg_notify('events_emp', NEW.empno::varchar);
		PERFORM pg_notify('events_dept', NEW.deptno::varchar);
	ELSE
		PERFORM pg_notify('events_emp', NEW.empno::varchar);
		IF NEW.deptno != OLD.deptno THEN
			PERFORM pg_notify('events_dept', OLD.deptno::varchar);
			PERFORM pg_notify('events_dept', NEW.deptno::varchar);
		END IF;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER emp_notify_event AFTER INSERT OR UPDATE OR DELETE ON emp
	FOR EACH ROW EXECUTE FUNCTION emp_notify_event();`

// seedSpecs serves the documents of resttest.
func seedSpecs() []resource.Spec {
	fields := map[string]source.FieldSpec{"empno": {Name: "empNo"}, "ename": {Name: "empName"},
		"mgr": {OmitNull: true}, "hiredate": {RFC3339: true}, "deptno": {Name: "deptNumber"}}
	depts := testbed.Spec("dept", source.Embed{Name: "emps", On: []string{"deptno"},
		Order: []string{"empno"},
		Spec:  &source.Spec{Name: "emps", Table: "emp", Fields: fields}})
	depts.Table.Name = "depts"
	depts.Table.Fields = map[string]source.FieldSpec{"deptno": {Name: "deptNumber"},
		"dname": {Name: "deptName"}, "loc": {Name: "deptLocation"}}
	list := []resource.Spec{depts, testbed.Spec("emp")}
	list[1].Table.Name, list[1].Table.Fields = "emps", fields
	return list
}

// A seedHouse is resttest's database behind hotrow.
type seedHouse struct {
	*stand
	t    *testing.T
	url  string
	conn *pgx.Conn // of another program
	c    *client
}

// seedFeeds are the ways in which hotrow can follow resttest's database: by its
// log, by the triggers that resttest has put there, by triggers of its own.
var seedFeeds = []struct {
	name  string
	mode  source.FeedMode
	setup func(t *testing.T, url string)
}{
	{"logical", source.FeedLogical, func(*testing.T, string) {}},
	{"notify=resttest", source.FeedNotify, func(t *testing.T, url string) {
		dbtest.Psql(t, url, seedTriggers)
	}},
	{"notify=hotrow", source.FeedNotify, installTriggers},
}

// eachFeed runs a test behind every feed. more are further resources.
func eachFeed(t *testing.T, test func(t *testing.T, h *seedHouse), more ...resource.Spec) {
	t.Helper()
	t.Parallel() // these tests wait more than they work
	for _, feed := range seedFeeds {
		t.Run(feed.name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.Postgres(t, dbtest.Setup(seedTables, seedExtras))
			feed.setup(t, url)
			p := plan{Specs: append(seedSpecs(), more...), Mode: feed.mode}
			h := &seedHouse{stand: newStand(t, url, p), t: t, url: url, conn: testbed.Dial(t, url)}
			h.c = h.connect()
			test(t, h)
		})
	}
}

// seedExtras counts statements, and makes a load of dept take a while: the
// function lies about itself, so that the resource may use it.
const seedExtras = `
CREATE EXTENSION pg_stat_statements;
CREATE FUNCTION slowly(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
	PERFORM pg_sleep(0.3);
	RETURN n;
END $$;`

// installTriggers runs what doctor says is needed for notifications.
func installTriggers(t *testing.T, url string) {
	t.Helper()
	testbed.ApplyDoctor(t, url, seedSpecs())
}

// exec changes the database as another program does.
func (h *seedHouse) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.conn.Exec(context.Background(), sql, args...); err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
}

// shows waits until a document has part in it, and makes sure that what memory
// then keeps has it too.
func (h *seedHouse) shows(path, part string) {
	h.t.Helper()
	waittest.Until(h.t, path+" shows "+part, func() bool {
		a, err := h.c.get(path)
		return err == nil && strings.Contains(string(a.body), part)
	})
	h.Quiet()
	if a := h.c.mustHit(h.t, path); !strings.Contains(string(a.body), part) {
		h.t.Errorf("GET %s: %s, want %s in it", path, a.body, part)
	}
}

// A dept is a document of depts.
type dept struct {
	DeptNumber   int
	DeptName     string
	DeptLocation *string
	Emps         []struct {
		EmpNo int
		Sal   int
	}
}

func (h *seedHouse) dept(key int) dept {
	h.t.Helper()
	return parseDept(h.t, h.c.mustGet(h.t, 200, fmt.Sprintf("/depts/%d", key)).body)
}

func parseDept(t testing.TB, body []byte) (d dept) {
	t.Helper()
	if err := json.Unmarshal(body, &d); err != nil {
		t.Errorf("%v: %s", err, body)
	}
	return d
}
