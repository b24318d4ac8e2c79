package demo

// The tables in SQLite. An INTEGER PRIMARY KEY is given by the database when
// an insert has none.
var sqliteTables = []string{
	`CREATE TABLE dept (
	deptno INTEGER PRIMARY KEY,
	dname  TEXT,
	loc    TEXT
)`,
	`CREATE TABLE emp (
	empno    INTEGER PRIMARY KEY,
	ename    TEXT,
	job      TEXT,
	mgr      INTEGER REFERENCES emp (empno),
	hiredate DATE,
	sal      INTEGER,
	comm     INTEGER,
	deptno   INTEGER REFERENCES dept (deptno)
)`,
	`CREATE INDEX emp_deptno ON emp (deptno)`,
	`CREATE INDEX emp_mgr ON emp (mgr)`,
	`CREATE TABLE salgrade (
	grade INTEGER PRIMARY KEY,
	losal INTEGER,
	hisal INTEGER
)`,
	`CREATE TABLE "user" (
	id   VARCHAR(32) NOT NULL PRIMARY KEY,
	name VARCHAR(256),
	mail VARCHAR(1024),
	c3   INT,
	c4   BIGINT UNSIGNED,
	c5   INT
)`,
}

// The tables in PostgreSQL.
var postgresTables = []string{
	`CREATE SEQUENCE dept_deptno_seq START 1000000`,
	`CREATE TABLE dept (
	deptno integer PRIMARY KEY DEFAULT nextval('dept_deptno_seq'),
	dname  text,
	loc    text
)`,
	`ALTER SEQUENCE dept_deptno_seq OWNED BY dept.deptno`,
	`CREATE SEQUENCE emp_empno_seq START 10000000`,
	`CREATE TABLE emp (
	empno    integer PRIMARY KEY DEFAULT nextval('emp_empno_seq'),
	ename    text,
	job      text,
	mgr      integer REFERENCES emp (empno),
	hiredate date,
	sal      integer,
	comm     integer,
	deptno   integer REFERENCES dept (deptno)
)`,
	`ALTER SEQUENCE emp_empno_seq OWNED BY emp.empno`,
	`CREATE INDEX emp_deptno ON emp (deptno)`,
	`CREATE INDEX emp_mgr ON emp (mgr)`,
	`CREATE TABLE salgrade (
	grade integer PRIMARY KEY,
	losal integer,
	hisal integer
)`,
	`CREATE TABLE "user" (
	id   varchar(32) PRIMARY KEY,
	name varchar(256),
	mail varchar(1024),
	c3   integer,
	c4   bigint,
	c5   integer
)`,
}

// The rows of Oracle's SCOTT schema, as every database course knows them.
var classicRows = []string{
	`INSERT INTO dept (deptno, dname, loc) VALUES
	(10, 'ACCOUNTING', 'NEW YORK'),
	(20, 'RESEARCH', 'DALLAS'),
	(30, 'SALES', 'CHICAGO'),
	(40, 'OPERATIONS', 'BOSTON')`,
	`INSERT INTO emp (empno, ename, job, mgr, hiredate, sal, comm, deptno) VALUES
	(7839, 'KING', 'PRESIDENT', NULL, '1981-11-17', 5000, NULL, 10),
	(7566, 'JONES', 'MANAGER', 7839, '1981-04-02', 2975, NULL, 20),
	(7698, 'BLAKE', 'MANAGER', 7839, '1981-05-01', 2850, NULL, 30),
	(7782, 'CLARK', 'MANAGER', 7839, '1981-06-09', 2450, NULL, 10),
	(7902, 'FORD', 'ANALYST', 7566, '1981-12-03', 3000, NULL, 20),
	(7788, 'SCOTT', 'ANALYST', 7566, '1982-12-09', 3000, NULL, 20),
	(7369, 'SMITH', 'CLERK', 7902, '1980-12-17', 800, NULL, 20),
	(7499, 'ALLEN', 'SALESMAN', 7698, '1981-02-20', 1600, 300, 30),
	(7521, 'WARD', 'SALESMAN', 7698, '1981-02-22', 1250, 500, 30),
	(7654, 'MARTIN', 'SALESMAN', 7698, '1981-09-28', 1250, 1400, 30),
	(7844, 'TURNER', 'SALESMAN', 7698, '1981-09-08', 1500, 0, 30),
	(7876, 'ADAMS', 'CLERK', 7788, '1983-01-12', 1100, NULL, 20),
	(7900, 'JAMES', 'CLERK', 7698, '1981-12-03', 950, NULL, 30),
	(7934, 'MILLER', 'CLERK', 7782, '1982-01-23', 1300, NULL, 10)`,
	`INSERT INTO salgrade (grade, losal, hisal) VALUES
	(1, 700, 1200),
	(2, 1201, 1400),
	(3, 1401, 2000),
	(4, 2001, 3000),
	(5, 3001, 9999)`,
}
