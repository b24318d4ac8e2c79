package demo

import (
	"strconv"
	"strings"
	"time"
)

// The sizes of what is generated.
const (
	Users       = 10_000     // their ids are "0" to "9999"
	FirstDept   = 1_000_000  // the first department of Options.Scale
	EmpsPerDept = 10         // employees of dept d have the numbers d*10 to d*10+9
	MaxScale    = 10_000_000 // departments; their employees' numbers fit 32 bits
)

// rowsPerInsert is how many rows one INSERT carries.
const rowsPerInsert = 500

// A hash turns a number into one that looks random (splitmix64, by Sebastiano
// Vigna, public domain), so that row n is the same however many there are.
func hash(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// pick takes one of words by some bits of h.
func pick(words []string, h uint64, shift int) string {
	return words[int(h>>shift&0xffff)%len(words)]
}

// userRows returns the INSERTs of the users.
func userRows() []string {
	w := &inserter{head: `INSERT INTO "user" (id, name, mail, c3, c4, c5) VALUES`}
	for i := range Users {
		h := hash(uint64(i))
		first, last := pick(firstNames, h, 0), pick(lastNames, h, 16)
		mail := mailPart(first) + "." + mailPart(last) + "." + strconv.Itoa(i) + "@" +
			pick(mailHosts, h, 32)
		w.begin()
		w.text(strconv.Itoa(i))
		w.text(first + " " + last)
		w.text(mail)
		w.number(0)
		w.number(int64(hash(h) >> 2)) // it fits PostgreSQL's bigint
		w.number(0)
	}
	return w.statements()
}

// mailPart turns a name into the part of an address: lower case, no accents,
// no apostrophes.
func mailPart(name string) string { return mailLetters.Replace(strings.ToLower(name)) }

var mailLetters = strings.NewReplacer("'", "", "é", "e", "ë", "e", "ø", "o", "ü", "u")

// firstHired is when the first of the generated employees can have been hired.
var firstHired = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// scaleRows returns the INSERTs of n generated departments, from number
// FirstDept+from on, with their employees.
func scaleRows(from, n int) []string {
	depts := &inserter{head: "INSERT INTO dept (deptno, dname, loc) VALUES"}
	emps := &inserter{head: "INSERT INTO emp (empno, ename, job, mgr, hiredate, sal, comm, " +
		"deptno) VALUES"}
	for i := from; i < from+n; i++ {
		deptno := int64(FirstDept + i)
		h := hash(uint64(deptno))
		depts.begin()
		depts.number(deptno)
		depts.text(pick(deptKinds, h, 0) + " " + pick(deptFields, h, 16))
		depts.text(pick(cities, h, 32))
		for j := range int64(EmpsPerDept) {
			writeEmp(emps, deptno, j)
		}
	}
	return append(depts.statements(), emps.statements()...)
}

// writeEmp writes employee j of a department: the first manages the others and
// is managed by KING; every fifth is a salesman with a commission.
func writeEmp(w *inserter, deptno, j int64) {
	boss := deptno * EmpsPerDept
	empno := boss + j
	h := hash(uint64(empno))
	job, mgr := pick(jobs, h, 0), boss
	switch {
	case j == 0:
		job, mgr = "MANAGER", 7839
	case j%5 == 4:
		job = "SALESMAN"
	}
	w.begin()
	w.number(empno)
	w.text(strings.ToUpper(pick(lastNames, h, 16)))
	w.text(job)
	w.number(mgr)
	w.text(firstHired.AddDate(0, 0, int(h>>32%16_000)).Format(time.DateOnly))
	w.number(800 + int64(h>>48%84)*50)
	if job == "SALESMAN" {
		w.number(int64(h>>40%15) * 100)
	} else {
		w.null()
	}
	w.number(deptno)
}

// An inserter writes rows as INSERTs of rowsPerInsert rows each.
type inserter struct {
	head string
	b    []byte
	rows int // in b
	cell int // in the row
	done []string
}

// begin begins a row.
func (w *inserter) begin() {
	w.endRow()
	if w.rows == rowsPerInsert {
		w.flush()
	}
	if w.rows++; w.rows == 1 {
		w.b = append(w.b, w.head...)
		w.b = append(w.b, "\n\t("...)
		return
	}
	w.b = append(w.b, ",\n\t("...)
}

// endRow ends the row that is open.
func (w *inserter) endRow() {
	if w.cell > 0 {
		w.b = append(w.b, ')')
	}
	w.cell = 0
}

// flush ends the statement that is open.
func (w *inserter) flush() {
	if w.rows > 0 {
		w.done = append(w.done, string(w.b))
	}
	w.b, w.rows = w.b[:0], 0
}

// statements ends what is open and returns the statements.
func (w *inserter) statements() []string {
	w.endRow()
	w.flush()
	return w.done
}

// next begins a value.
func (w *inserter) next() {
	if w.cell++; w.cell > 1 {
		w.b = append(w.b, ", "...)
	}
}

// text writes a string as SQL.
func (w *inserter) text(s string) {
	w.next()
	w.b = append(w.b, '\'')
	w.b = append(w.b, strings.ReplaceAll(s, "'", "''")...)
	w.b = append(w.b, '\'')
}

// number writes an integer.
func (w *inserter) number(n int64) {
	w.next()
	w.b = strconv.AppendInt(w.b, n, 10)
}

// null writes NULL.
func (w *inserter) null() {
	w.next()
	w.b = append(w.b, "NULL"...)
}
