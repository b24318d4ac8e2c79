package fresh

import "slices"

// told returns the letters of the visible ones among some transactions, from 0.
func told(visible txs, ids ...int) string {
	s := ""
	for _, i := range ids {
		if visible.has(i) {
			s += string(rune('a' + i))
		}
	}
	return s
}

// listOf is a list of one tag, which these transactions change.
func listOf(c wordClass, ids ...int) wordQuery {
	return wordQuery{tags: []wordClass{c},
		read: func(v txs) (string, []wordClass) { return told(v, ids...), nil }}
}

var (
	byAuthor = wordTemplate{table: 0, column: "author"}
	ofAda    = wordClass{0, "author", "ada"}
)

// change is a transaction that changes one row of table 0.
func change(old, new cells) wordTx { return wordTx{rows: []wordRow{{0, old, new}}} }

func author(name string) cells { return cells{"author": name} }

func own(tx wordTx) wordTx { tx.own = true; return tx }

// twoReaders returns two readers beside each other, oneAndLast one and another that finds
// what it has left, and oneReader one whose copy is looked at in the end.
func twoReaders() []wordReader { return []wordReader{{}, {}} }
func oneReader() []wordReader  { return []wordReader{{}} }
func oneAndLast() []wordReader { return []wordReader{{}, {last: true}} }

func wordScenarios() []wordScenario {
	leaves := change(author("ada"), author("bob"))
	returns := change(author("bob"), author("ada"))
	other := change(author("bob"), author("eve"))
	one := []wordTemplate{byAuthor}
	list := []wordScenario{
		{name: "leaves", txs: []wordTx{leaves}, query: listOf(ofAda, 0), templates: one,
			readers: twoReaders()},
		{name: "enters", txs: []wordTx{change(nil, author("ada"))}, query: listOf(ofAda, 0),
			templates: one, readers: twoReaders()},
		{name: "leaves and returns", txs: []wordTx{leaves, returns},
			query: listOf(ofAda, 0, 1), templates: one, readers: oneReader()},
		{name: "another class", txs: []wordTx{leaves, other}, query: listOf(ofAda, 0),
			templates: one, notify: true, readers: oneReader()},
		{name: "notify", txs: []wordTx{leaves, returns}, query: listOf(ofAda, 0, 1),
			templates: one, readers: oneAndLast(), notify: true},
		{name: "all rows", txs: []wordTx{leaves}, query: listOf(wordClass{0, "", ""}, 0),
			templates: one, readers: []wordReader{{}, {}}},
		{name: "bulk", txs: []wordTx{{whole: []int{0}}}, query: listOf(ofAda, 0),
			templates: one, readers: twoReaders()},
		{name: "one slot", txs: []wordTx{leaves, other}, query: listOf(ofAda, 0),
			templates: one, notify: true, readers: oneReader(), slots: 1},
		{name: "overflow", txs: []wordTx{other, leaves}, query: listOf(ofAda, 1),
			templates: one, readers: oneReader(), limit: 1},
		{name: "token", txs: []wordTx{leaves}, query: listOf(ofAda, 0), templates: one,
			readers: []wordReader{{}, {need: Settled, min: 1}}},
		{name: "no-cache", txs: []wordTx{leaves}, query: listOf(ofAda, 0), templates: one,
			readers: []wordReader{{}, {need: Now}}},
		{name: "two formats", txs: []wordTx{leaves}, query: listOf(ofAda, 0), templates: one,
			readers: []wordReader{{}, {format: 1}}},
		{name: "eviction", txs: []wordTx{leaves}, query: listOf(ofAda, 0), templates: one,
			readers: []wordReader{{}, {}}, evicts: true},
		{name: "written through", txs: []wordTx{own(leaves)}, query: listOf(ofAda, 0),
			templates: one, readers: oneAndLast()},
		{name: "written after another", txs: []wordTx{leaves, own(returns)},
			query: listOf(ofAda, 0, 1), templates: one, notify: true, readers: oneAndLast(), long: true},
		{name: "rolled back", txs: []wordTx{{rows: leaves.rows, own: true, fails: true}},
			query: listOf(ofAda), templates: one, readers: oneAndLast()},
		{name: "feed begins after a log", txs: []wordTx{{lost: true}}, query: listOf(ofAda, 0),
			templates: one, readers: oneAndLast()},
		{name: "feed begins between", txs: []wordTx{leaves, {lost: true}},
			query: listOf(ofAda, 0, 1), templates: one, readers: oneReader()},
	}
	return slices.Concat(list, templateScenarios(), rowScenarios(), documentScenarios())
}

// documentScenarios have a document as a list of one row: the rows of a parent, which the
// feed names by their new parent alone. A row goes to another parent, and comes back.
func documentScenarios() []wordScenario {
	byID := wordTemplate{table: 0, column: "id", forgets: true, identity: true}
	of := byAuthor
	of.forgets = true
	templates := []wordTemplate{of, byID}
	goes := change(cells{"id": "1"}, cells{"id": "1", "author": "bob"})
	comes := change(cells{"id": "1"}, cells{"id": "1", "author": "ada"})
	document := func(ids ...int) wordQuery {
		return wordQuery{tags: []wordClass{ofAda}, reads: []int{0},
			read: func(v txs) (string, []wordClass) {
				if v.has(0) == v.has(1) {
					return told(v, ids...), []wordClass{{0, "id", "1"}}
				}
				return told(v, ids...), nil
			}}
	}
	return []wordScenario{
		{name: "child moves, old parent unknown", txs: []wordTx{goes}, query: document(0),
			templates: templates, readers: twoReaders()},
		{name: "child moves and returns, old parent unknown", txs: []wordTx{goes, comes},
			query: document(0, 1), templates: templates, readers: oneReader()},
		{name: "child moves and returns, old parent unknown, notify feed",
			txs: []wordTx{goes, comes}, query: document(0, 1), templates: templates,
			readers: oneAndLast(), notify: true},
		{name: "token, old parent unknown", txs: []wordTx{goes}, query: document(0),
			templates: templates, readers: []wordReader{{}, {need: Settled, min: 1}}},
		{name: "two formats, old parent unknown", txs: []wordTx{goes}, query: document(0),
			templates: templates, readers: []wordReader{{}, {format: 1}}},
		{name: "written through, old parent unknown", txs: []wordTx{own(goes)},
			query: document(0), templates: templates, readers: oneAndLast()},
	}
}

// templateScenarios have a template that comes or goes.
func templateScenarios() []wordScenario {
	leaves := change(author("ada"), author("bob"))
	later, removed := byAuthor, byAuthor
	later.later, removed.removed = true, true
	return []wordScenario{
		{name: "template while a change is pending", txs: []wordTx{leaves},
			query: listOf(ofAda, 0), templates: []wordTemplate{later}, readers: oneAndLast()},
		{name: "template while a write holds", txs: []wordTx{own(leaves)}, notify: true,
			query: listOf(ofAda, 0), templates: []wordTemplate{later}, readers: oneAndLast(), long: true},
		{name: "template removed", txs: []wordTx{leaves}, query: listOf(ofAda, 0),
			templates: []wordTemplate{removed}, readers: oneAndLast()},
	}
}

// rowScenarios have lists whose rows tell tags.
func rowScenarios() []wordScenario {
	byID := wordTemplate{table: 0, column: "id", identity: true}
	forgets := byAuthor
	forgets.forgets = true
	row := func(id string) wordClass { return wordClass{0, "id", id} }
	// The rows 1 and 2 are Ada's; the list shows one, and tells that there is another.
	// Then 2 goes to Bob, who has been told of by its identity only.
	window := wordQuery{tags: []wordClass{ofAda}, reads: []int{0},
		read: func(v txs) (string, []wordClass) {
			if v.has(0) {
				return told(v, 0), []wordClass{row("1")}
			}
			return "", []wordClass{row("1"), row("2")}
		}}
	// The post of the tag refers to user 1, and then to user 2. Users change.
	byUser := wordTemplate{table: 1, column: "id", identity: true}
	user := func(id string) wordClass { return wordClass{1, "id", id} }
	refers := func(v txs, changed string) (string, []wordClass) {
		if v.has(1) {
			return changed, []wordClass{user("2")}
		}
		return changed, []wordClass{user("1")}
	}
	// Who is blind has read rows that nobody names: one of them goes to Bob.
	blind := byAuthor
	blind.blind = true
	unseen := wordQuery{tags: []wordClass{ofAda, {0, "author", Unseen}},
		read: func(v txs) (string, []wordClass) { return told(v, 0), nil }}
	return []wordScenario{
		{name: "old class not known to who is blind", query: unseen,
			txs:       []wordTx{change(cells{"id": "2"}, cells{"id": "2", "author": "bob"})},
			templates: []wordTemplate{blind}, readers: oneAndLast()},
		{name: "old class not known", query: window,
			txs:       []wordTx{change(cells{"id": "2"}, cells{"id": "2", "author": "bob"})},
			templates: []wordTemplate{forgets, byID}, readers: oneAndLast()},
		{name: "embedded row changes", templates: []wordTemplate{byAuthor, byUser},
			txs: []wordTx{{rows: []wordRow{{1, cells{"id": "1"}, cells{"id": "1"}}}},
				change(author("ada"), author("ada"))},
			query: wordQuery{tags: []wordClass{ofAda}, reads: []int{1},
				read: func(v txs) (string, []wordClass) { return refers(v, told(v, 0, 1)) }},
			notify: true, readers: oneAndLast()},
		{name: "token, embedded row changes", templates: []wordTemplate{byAuthor, byUser},
			txs: []wordTx{{rows: []wordRow{{1, cells{"id": "1"}, cells{"id": "1"}}}}},
			query: wordQuery{tags: []wordClass{ofAda}, reads: []int{1},
				read: func(v txs) (string, []wordClass) { return refers(v, told(v, 0)) }},
			readers: []wordReader{{}, {need: Settled, min: 1}}},
		{name: "two tables in one", templates: []wordTemplate{byAuthor, byUser},
			txs: []wordTx{{rows: []wordRow{{1, cells{"id": "1"}, cells{"id": "1"}},
				{0, author("ada"), author("ada")}}}},
			query: wordQuery{tags: []wordClass{ofAda}, reads: []int{1},
				read: func(v txs) (string, []wordClass) { return refers(v, told(v, 0)) }},
			readers: oneAndLast()},
	}
}
