package fresh

import (
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// letters is the value of a document that every transaction appends to.
func letters(_ int, visible txs) string {
	v := ""
	for t := range 8 {
		if visible.has(t) {
			v += string(rune('a' + t))
		}
	}
	return v
}

// writtenThrough reports whether a write keeps what it has read back.
func (sc *scenario) writtenThrough() bool {
	return slices.ContainsFunc(sc.txs, func(tx modelTx) bool { return tx.writeThrough })
}

func foreign(txs ...modelTx) []modelTx {
	for i := range txs {
		txs[i].id = i + 1
		txs[i].own = -1
	}
	return txs
}

// moves is the value of documents 0 and 1 when row 0 moves from 0 to 1 by the
// first transaction and back by the second.
func moving(doc int, visible txs) string {
	at := 0
	n := 0
	for t := range 2 {
		if visible.has(t) {
			at, n = 1-at, n+1
		}
	}
	if at != doc {
		return []string{"", "a", "ab"}[n]
	}
	return []string{"", "a", "ab"}[n] + "!"
}

// scenarios are what the protocol is checked with. The database of moving
// counts the moves in both documents only to make values comparable: what the
// check at the end compares is whether the row is in them.
func scenarios() []scenario {
	any2 := []modelReader{{doc: 0}, {doc: 0}}
	both := []modelReader{{doc: 0}, {doc: 1}}
	write := func(docs ...int) modelTx { return modelTx{docs: docs} }
	whole := modelTx{whole: true}
	own := func() []modelTx {
		txs := foreign(write(0), write(0))
		txs[1].own = 0
		return txs
	}
	kept := func(others ...modelTx) []modelTx {
		txs := foreign(append(others, write(0))...)
		txs[len(txs)-1].own, txs[len(txs)-1].writeThrough = 0, true
		return txs
	}
	twice := kept(write(0))
	twice[0].own, twice[0].writeThrough = 0, true
	before := foreign(write(0), write(0))
	before[0].own, before[0].writeThrough = 0, true
	return []scenario{
		{name: "one key, log feed", docs: 1, value: letters, txs: foreign(write(0), write(0)),
			readers: any2},
		{name: "one key, notify feed", docs: 1, value: letters, txs: foreign(write(0), write(0)),
			readers: any2, notify: true},
		{name: "child moves, parents known", docs: 2, value: moving, readers: both,
			txs: foreign(write(0, 1))},
		{name: "whole table", docs: 1, value: letters, txs: foreign(whole, write(0)),
			readers: any2},
		{name: "token", docs: 1, value: letters, txs: foreign(write(0), write(0)),
			readers: []modelReader{{doc: 0}, {doc: 0, need: Settled, min: 1}}},
		{name: "bypass", docs: 1, value: letters, txs: foreign(write(0), write(0)),
			readers: []modelReader{{doc: 0}, {doc: 0, need: Now}}},
		{name: "two bypasses", docs: 1, value: letters, txs: foreign(write(0)),
			readers: []modelReader{{doc: 0}, {doc: 0, need: Now}, {doc: 0, need: Now}}},
		{name: "write through", docs: 1, value: letters, txs: own(), readers: any2},
		{name: "write kept", docs: 1, value: letters, txs: kept(), readers: any2},
		{name: "write kept after another", docs: 1, value: letters, txs: kept(write(0)), readers: any2,
			long: true},
		{name: "write kept after another, notify feed", docs: 1, value: letters, txs: kept(write(0)),
			readers: any2, notify: true},
		{name: "write kept before another", docs: 1, value: letters, txs: before, readers: any2[:1]},
		{name: "write kept before another, notify feed", docs: 1, value: letters, txs: before,
			readers: any2, notify: true},
		{name: "two writes kept", docs: 1, value: letters, txs: twice, readers: any2[:1]},
		{name: "two writes kept, notify feed", docs: 1, value: letters, txs: twice, readers: any2[:1],
			notify: true},
		{name: "write kept, bypass", docs: 1, value: letters, txs: kept(write(0)), notify: true,
			readers: []modelReader{{doc: 0}, {doc: 0, need: Now}}},
		{name: "write kept, two formats", docs: 1, value: letters, txs: kept(write(0)), notify: true,
			readers: []modelReader{{doc: 0}, {doc: 0, format: row.FormatMsgPack}}},
		{name: "write kept, whole table", docs: 1, value: letters, txs: kept(whole), readers: any2[:1]},
		{name: "feed lost", docs: 1, value: letters, readers: any2, notify: true,
			txs: foreign(modelTx{docs: []int{0}, lost: true}, write(0))},
		{name: "two formats, bypass", docs: 1, value: letters, txs: foreign(write(0)),
			readers: []modelReader{{doc: 0}, {doc: 0, need: Now},
				{doc: 0, format: row.FormatMsgPack}}},
		{name: "two formats", docs: 1, value: letters, txs: foreign(write(0)),
			readers: []modelReader{{doc: 0}, {doc: 0, format: row.FormatMsgPack}, {doc: 0}}},
		{name: "two formats, two changes", docs: 1, value: letters, txs: foreign(write(0), write(0)),
			readers: []modelReader{{doc: 0}, {doc: 0, format: row.FormatMsgPack}}},
		{name: "two formats, notify feed", docs: 1, value: letters, txs: foreign(write(0)), notify: true,
			readers: []modelReader{{doc: 0}, {doc: 0, format: row.FormatMsgPack}, {doc: 0}}},
		{name: "two formats, write through", docs: 1, value: letters, txs: own(),
			readers: []modelReader{{doc: 0}, {doc: 0, format: row.FormatMsgPack}}},
		{name: "three readers", docs: 1, value: letters, txs: foreign(write(0)),
			readers: []modelReader{{doc: 0}, {doc: 0}, {doc: 0}}},
		{name: "copy found late", docs: 1, value: letters, txs: foreign(write(0)),
			readers: []modelReader{{doc: 0}, {doc: 0}, {doc: 0, need: Now}}},
		{name: "feed begins after a log", docs: 1, value: letters, readers: any2,
			txs: foreign(modelTx{docs: []int{0}, barrier: true})},
		{name: "feed begins after a log, another change", docs: 1, value: letters, readers: any2,
			txs: foreign(modelTx{docs: []int{0}, barrier: true}, write(0))},
	}
}
