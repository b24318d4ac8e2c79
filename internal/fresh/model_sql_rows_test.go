package fresh

// The rows of the SQL front's model (model_sql_test.go): what transactions do to them, what
// statements find, and which version counters each of them has to do with.

// The version counters. Two tags of an author, one of each key, and three of the table: moved
// when nobody knows which tags have changed, by each change, and by own writes alone.
const (
	sqlOfAda = iota
	sqlOfBob
	sqlKey0
	sqlKey1
	sqlKey2
	sqlWhole
	sqlTable
	sqlOwn
	sqlWords
)

// The authors.
const (
	ada int8 = iota
	bob
	unset int8 = -1 // the statement does not give it
)

const sqlRows = 3

// A sqlRow is a row of the one table; its key is its place.
type sqlRow struct {
	in            bool
	author, score int8
}

// A sqlTx is a transaction of one statement about one row.
type sqlTx struct {
	row            int
	insert, delete bool
	author, score  int8 // unset: the statement leaves them as they are

	noKey   bool // the statement does not give the key
	inexact bool // a value is not the text that the column will have
	foreign bool // another program commits it

	rekeys bool // the row gets the key of another place
	to     int
}

// An sqlQuery is a SELECT. What it compares scores with, its order and its limit are nothing that
// version counters know.
type sqlQuery struct {
	author  int8  // unset: it does not compare it
	keys    uint8 // a bit for each of IN; 0: it does not compare them
	least   int8  // score
	limit   int   // 0: none; the order is by score, highest first
	count   bool  // count(*)
	keyless bool  // the answer does not tell the keys of its rows
}

// An sqlAnswer is what a query finds: for each place the row's key, author and score.
type sqlAnswer [sqlRows][3]int8

// rowsAt returns the rows once the transactions of v have committed.
func (sc *sqlScenario) rowsAt(v uint8) (rows [sqlRows]sqlRow) {
	rows = sc.rows
	for i := range sc.txs {
		if v>>i&1 == 0 {
			continue
		}
		t := &sc.txs[i]
		r := &rows[t.row]
		switch {
		case t.insert:
			*r = sqlRow{true, t.author, t.score}
		case t.delete:
			*r = sqlRow{}
		case t.rekeys:
			rows[t.to], *r = *r, sqlRow{}
		default:
			r.author, r.score = given(t.author, r.author), given(t.score, r.score)
		}
	}
	return rows
}

func given(v, old int8) int8 {
	if v == unset {
		return old
	}
	return v
}

// answer returns what query q finds once v has committed, and the keys of the rows that it shows.
func (sc *sqlScenario) answer(q int, v uint8) (a sqlAnswer, keys uint8) {
	rows, n := sc.rowsAt(v), 0
	query := &sc.queries[q]
	for score := int8(9); score >= query.least; score-- {
		for i, r := range rows {
			match := r.in && r.score == score &&
				(query.author == unset || query.author == r.author) &&
				(query.keys == 0 || query.keys>>i&1 != 0)
			switch {
			case !match, query.limit > 0 && n == query.limit:
			case query.count:
				a[0][0]++
			default:
				a[n] = [3]int8{int8(i) + 1, r.author, r.score}
				keys |= 1 << i
				n++
			}
		}
	}
	return a, keys
}

// unread returns the counters that an answer depends on whatever it is.
func (w *sqlWorld) unread(q int) []int {
	query := &w.sc.queries[q]
	var deps []int
	switch {
	case query.author != unset && !(w.sc.closes && !w.sc.full && query.count):
		deps = append(deps, sqlOfAda+int(query.author))
	case query.author == unset && query.keys != 0:
		for i := range sqlRows {
			if query.keys>>i&1 != 0 {
				deps = append(deps, sqlKey0+i)
			}
		}
	default:
		deps = append(deps, sqlTable)
	}
	if w.sc.closes {
		return append(deps, sqlWhole)
	}
	if !w.sc.full && (query.count || query.keyless) {
		deps = append(deps, sqlTable)
	}
	return append(deps, sqlWhole)
}

// deps returns all counters that a copy depends on. The tag of an own write's old value is not
// known when its COMMIT is forwarded: a copy has the keys of its rows, or what every own write
// moves.
func (w *sqlWorld) deps(q int, v uint8) []int {
	deps := w.unread(q)
	if w.sc.closes && (w.sc.full || w.sc.queries[q].count || w.sc.queries[q].keys != 0) {
		return deps
	}
	if query := &w.sc.queries[q]; query.count || query.keyless {
		if w.is(noOwn) {
			return deps
		}
		return append(deps, sqlOwn)
	}
	_, keys := w.sc.answer(q, v)
	for i := range sqlRows {
		if keys>>i&1 != 0 && !w.is(noRows) {
			deps = append(deps, sqlKey0+i)
		}
	}
	return deps
}

// fed returns the counters that the feed moves for transaction i: a feed with full old values
// knows the old author.
func (w *sqlWorld) fed(i int) []int {
	t := &w.sc.txs[i]
	moves := []int{sqlTable, sqlKey0 + t.row}
	before := w.sc.rowsAt(1<<i - 1)[t.row] // transactions of one row commit in their order
	after := w.sc.rowsAt(1<<(i+1) - 1)[t.row]
	if before.in && w.sc.full {
		moves = append(moves, sqlOfAda+int(before.author))
	}
	if t.rekeys {
		return append(moves, sqlKey0+t.to, sqlOfAda+int(before.author))
	}
	if after.in && (!before.in || !w.sc.full || after.author != before.author) {
		moves = append(moves, sqlOfAda+int(after.author))
	}
	return moves
}

// hold returns the counters that the front holds for its own transaction i, and whether it closes
// the table in their place. It knows the statement's text and parameters, and no row.
func (w *sqlWorld) hold(i int) (moves []int, closes bool) {
	t := &w.sc.txs[i]
	if w.sc.closes {
		return nil, true
	}
	precise := !t.noKey && !t.inexact && (t.delete || t.author != unset)
	switch {
	case w.is(closesNothing):
		return []int{sqlTable, sqlOwn}, false
	case w.is(templatesOfSet):
		precise = !t.inexact
	case w.is(keyNotNeeded):
		precise = precise || t.noKey && !t.inexact
	case w.is(inexactHeld):
		precise = precise || t.inexact
	}
	if !precise {
		if w.is(closedWithoutOwn) {
			return nil, true
		}
		return []int{sqlOwn}, true // so that nobody joins a load that began before the answer
	}
	moves = []int{sqlTable, sqlOwn}
	if !t.noKey {
		moves = append(moves, sqlKey0+t.row)
	}
	if !t.delete && t.author != unset && !w.is(newClassNotHeld) {
		moves = append(moves, sqlOfAda+int(w.written(t)))
	}
	return moves, false
}

// written returns the author that a statement's text tells. What is not the column's own text is
// another author to whoever compares texts.
func (w *sqlWorld) written(t *sqlTx) int8 {
	if t.inexact {
		return 1 - t.author
	}
	return t.author
}
