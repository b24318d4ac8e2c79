package stress

import (
	"math/rand/v2"
	"slices"
)

// A stmt is one statement with what it changes.
type stmt struct {
	sql     string
	args    []any
	changes []Change
}

// A job is one transaction. plan is called when its locks are held: then it
// may look at what the registers hold.
type job struct {
	locks []int64
	plan  func() []stmt
}

// The locks of the tables: the key is added. All of side and all of bulk have
// one each.
const (
	lockDept = 1_000_000 * (iota + 1)
	lockEmp
	lockFlat
	lockSide
	lockBulk
)

// job returns some transaction.
func (w *world) job() job {
	switch n := rand.IntN(100); {
	case n < 35:
		return w.flatJob()
	case n < 65:
		return w.empJob(1 + rand.IntN(emps))
	case n < 75:
		return w.deptJob(1 + rand.IntN(depts))
	case n < 87:
		return w.manyJob()
	case n < 93:
		return w.renameJob()
	}
	return w.sideJob()
}

func (w *world) next() int64 { return w.value.Add(1) }

// hotJob returns some transaction, one in three of a row that is asked for the most.
func (w *world) hotJob() job {
	if rand.IntN(3) == 0 {
		return w.flatJobOf(1 + rand.IntN(hotFlats))
	}
	return w.job()
}

// flatJob inserts, updates or deletes a row of flat.
func (w *world) flatJob() job { return w.flatJobOf(1 + rand.IntN(flats)) }

func (w *world) flatJobOf(k int) job {
	return job{[]int64{int64(lockFlat + k)}, func() []stmt { return []stmt{w.flatStmt(k)} }}
}

func (w *world) flatStmt(k int) stmt {
	r, v := w.flat[k], w.next()
	set := []Change{{r, State{Value: v}}}
	switch {
	case r.Last().Value == 0:
		return stmt{"INSERT INTO flat VALUES ($1, $2)", []any{k, v}, set}
	case rand.IntN(5) == 0:
		return stmt{"DELETE FROM flat WHERE id = $1", []any{k}, []Change{{r, State{}}}}
	}
	return stmt{"UPDATE flat SET value = $2 WHERE id = $1", []any{k, v}, set}
}

// empJob inserts, updates, deletes or moves an emp: to another dept or to none.
func (w *world) empJob(k int) job {
	return job{[]int64{int64(lockEmp + k)}, func() []stmt { return []stmt{w.empStmt(k)} }}
}

func (w *world) empStmt(k int) stmt {
	r, v := w.emp[k], w.next()
	old := r.Last()
	to := State{Value: v, Parent: int32(1 + rand.IntN(depts-emptyDepts))}
	parent := any(to.Parent)
	switch n := rand.IntN(10); {
	case old.Value == 0:
		return stmt{"INSERT INTO emp VALUES ($1, $2, $3)", []any{k, v, parent}, []Change{{r, to}}}
	case n == 0:
		return stmt{"DELETE FROM emp WHERE empno = $1", []any{k}, []Change{{r, State{}}}}
	case n < 5:
		to.Parent = old.Parent
		return stmt{"UPDATE emp SET value = $2 WHERE empno = $1", []any{k, v}, []Change{{r, to}}}
	case n == 5:
		to.Parent, parent = 0, nil
	}
	return stmt{"UPDATE emp SET value = $2, deptno = $3 WHERE empno = $1", []any{k, v, parent},
		[]Change{{r, to}}}
}

// deptJob updates a dept; those that never have emps come and go.
func (w *world) deptJob(k int) job {
	return job{[]int64{int64(lockDept + k)}, func() []stmt { return []stmt{w.deptStmt(k)} }}
}

func (w *world) deptStmt(k int) stmt {
	r, v := w.dept[k], w.next()
	set := []Change{{r, State{Value: v}}}
	switch {
	case r.Last().Value == 0:
		return stmt{"INSERT INTO dept VALUES ($1, $2)", []any{k, v}, set}
	case k > depts-emptyDepts && rand.IntN(2) == 0:
		return stmt{"DELETE FROM dept WHERE deptno = $1", []any{k}, []Change{{r, State{}}}}
	}
	return stmt{"UPDATE dept SET value = $2 WHERE deptno = $1", []any{k, v}, set}
}

// manyJob changes rows of several tables in one transaction.
func (w *world) manyJob() job {
	d, e, f, g := 1+rand.IntN(depts), 1+rand.IntN(emps), 1+rand.IntN(flats), 1+rand.IntN(emps)
	locks := []int64{int64(lockDept + d), int64(lockEmp + e), int64(lockFlat + f)}
	if g != e {
		locks = append(locks, int64(lockEmp+g))
	}
	return job{locks, func() []stmt {
		list := []stmt{w.deptStmt(d), w.empStmt(e), w.flatStmt(f)}
		if g != e {
			list = append(list, w.empStmt(g))
		}
		return list
	}}
}

// renameJob gives a row of flat another key.
func (w *world) renameJob() job {
	a := 1 + rand.IntN(flats)
	b := 1 + rand.IntN(flats)
	if a == b {
		return w.flatJob()
	}
	return job{[]int64{int64(lockFlat + a), int64(lockFlat + b)}, func() []stmt {
		if w.flat[a].Last().Value == 0 || w.flat[b].Last().Value != 0 {
			return []stmt{w.flatStmt(a)}
		}
		v := w.next()
		return []stmt{{"UPDATE flat SET id = $2, value = $3 WHERE id = $1", []any{a, b, v},
			[]Change{{w.flat[a], State{}}, {w.flat[b], State{Value: v}}}}}
	}}
}

// sideJob changes a row of side or, now and then, truncates it.
func (w *world) sideJob() job {
	k := 1 + rand.IntN(sides)
	return job{[]int64{lockSide}, func() []stmt {
		r, v := w.side[k], w.next()
		if rand.IntN(12) == 0 {
			s := stmt{sql: "TRUNCATE side"}
			for _, r := range w.side[1:] {
				s.changes = append(s.changes, Change{r, State{}})
			}
			return []stmt{s}
		}
		set := []Change{{r, State{Value: v}}}
		if r.Last().Value == 0 {
			return []stmt{{"INSERT INTO side VALUES ($1, $2)", []any{k, v}, set}}
		}
		return []stmt{{"UPDATE side SET value = $2 WHERE id = $1", []any{k, v}, set}}
	}}
}

// bulkJob changes every row of bulk.
func (w *world) bulkJob() job {
	return job{[]int64{lockBulk}, func() []stmt {
		v := w.next()
		return []stmt{{"UPDATE bulk SET value = $1", []any{v}, []Change{{w.bulk, State{Value: v}}}}}
	}}
}

// sorted returns the locks in the order in which everybody takes them.
func (j job) sorted() []int64 {
	slices.Sort(j.locks)
	return j.locks
}
