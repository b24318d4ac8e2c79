package sourcetest

import "github.com/hotrow/hotrow/internal/source"

// schema returns the tables of the suite and their rows, in SQL that all of
// the databases speak.
func (s *suite) schema() []string {
	return []string{
		`CREATE TABLE dept (deptno integer PRIMARY KEY, dname text NOT NULL, loc text)`,
		`CREATE TABLE emp (empno integer PRIMARY KEY, ename text, job text, mgr integer,
			hiredate date, sal integer, comm integer, deptno integer REFERENCES dept (deptno))`,
		`CREATE INDEX emp_deptno ON emp (deptno)`,
		`CREATE TABLE phone (id integer PRIMARY KEY, empno integer, number text)`,
		`CREATE TABLE city (name varchar(40) NOT NULL, state varchar(2) NOT NULL,
			people integer, PRIMARY KEY (name, state))`,
		`CREATE TABLE word (id varchar(60) PRIMARY KEY, meaning text)`,
		`CREATE TABLE big (id bigint PRIMARY KEY, name text)`,
		`CREATE TABLE thing (id ` + s.env.Dialect.uuid() + ` PRIMARY KEY, name text)`,
		`CREATE TABLE account (id integer PRIMARY KEY, name text, password text, api_key text)`,
		`CREATE TABLE keyless (a integer, b text)`,
		`CREATE TABLE note (id ` + s.env.Dialect.Generated + `, body text)`,
		`CREATE TABLE "we""ird" ("sel""ect" integer PRIMARY KEY, "a b" text)`,

		`INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', NULL),
			(30, 'SALES', 'CHICAGO'), (40, 'OPERATIONS', 'BOSTON')`,
		`INSERT INTO emp VALUES
			(7839, 'KING', 'PRESIDENT', NULL, '1981-11-17', 5000, NULL, 10),
			(7782, 'CLARK', 'MANAGER', 7839, '1981-06-09', 2450, NULL, 10),
			(7934, 'MILLER', 'CLERK', 7782, '1982-01-23', 1300, NULL, 10),
			(7566, 'JONES', 'MANAGER', 7839, '1981-04-02', 2975, NULL, 20),
			(7900, 'JAMES', 'CLERK', NULL, '1981-12-03', 950, NULL, NULL)`,
		`INSERT INTO phone VALUES (1, 7839, '555-1'), (2, 7839, '555-2'), (3, 7782, '555-3')`,
		`INSERT INTO city VALUES ('Tulsa', 'OK', 400000), ('Paris, TX', 'TX', 25000),
			('100%', 'ZZ', 1)`,
		`INSERT INTO word VALUES ('Ähre', 'ear'), ('a/b', 'path'), ('a''b', 'quote'),
			('', 'empty'), ('x', 'letter'), ('a b', 'space')`,
		`INSERT INTO big VALUES (9007199254740993, 'odd'), (9007199254740992, 'even'),
			(-9223372036854775808, 'least'), (9223372036854775807, 'greatest')`,
		`INSERT INTO thing VALUES ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'dns')`,
		`INSERT INTO account VALUES (1, 'ada', 'hunter2', 'k-1')`,
		`INSERT INTO "we""ird" VALUES (1, 'fine')`,
	}
}

// depts is the seed's document: a department with its people.
func depts() *source.Spec {
	return &source.Spec{
		Name: "depts", Table: "dept",
		Fields: map[string]source.FieldSpec{
			"deptno": {Name: "deptNumber"}, "dname": {Name: "deptName", Required: true},
			"loc": {Name: "deptLocation"},
		},
		Embeds: []source.Embed{{
			Name: "emps", On: []string{"deptno"}, Order: []string{"empno"},
			Spec: &source.Spec{
				Name: "emps", Table: "emp", Only: true,
				Fields: map[string]source.FieldSpec{
					"empno": {Name: "empNo"}, "ename": {Name: "empName"},
					"mgr": {OmitNull: true}, "sal": {},
				},
			},
		}},
	}
}
