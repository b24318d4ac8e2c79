package fresh

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// Tokens from one node to another, in the exhaustive check: two nodes follow one database, and
// a reader of one sends the token of its answer to the other. Document 0 is the row as the
// first node has it, document 1 as the second has it.

// A pair is the two. What the feed of both delivers, one gets before the other.
type pair struct {
	nodes  [2]*real
	behind int // the node that gets it last
	loads  []pairLoad
}

// A pairLoad is a load of one of them.
type pairLoad struct{ node, load int }

func newPair(behind int, broken breach) *pair {
	p := &pair{behind: behind}
	for i := range p.nodes {
		p.nodes[i] = newReal(false)
		p.nodes[i].broken = broken
	}
	return p
}

func (p *pair) of(load int) (*real, int) {
	l := p.loads[load]
	return p.nodes[l.node], l.load
}

func (p *pair) begin(doc int, f row.Format, need Need) (int, bool) {
	n, leader := p.nodes[doc].begin(0, f, need)
	for i, l := range p.loads {
		if l == (pairLoad{doc, n}) {
			return i, leader
		}
	}
	p.loads = append(p.loads, pairLoad{doc, n})
	return len(p.loads) - 1, leader
}

func (p *pair) send(load int) { n, l := p.of(load); n.send(l) }

func (p *pair) found(load int) bool { n, l := p.of(load); return n.found(l) }

func (p *pair) finish(load int, value string, logged int) {
	n, l := p.of(load)
	n.finish(l, value, logged)
}

// deliver delivers to one node after the other.
func (p *pair) deliver(tx *modelTx, call int) (last bool) {
	one := *tx
	one.docs = []int{0}
	p.nodes[(p.behind+1+call)%2].deliver(&one, 0)
	return call == 1
}

// unsettled are those that both nodes have, and have not settled.
func (p *pair) unsettled() txs { return p.nodes[0].unsettled() & p.nodes[1].unsettled() }

func (p *pair) settle(tx int) { p.nodes[0].settle(tx); p.nodes[1].settle(tx) }

func (p *pair) cached(doc int, f row.Format) (string, bool) { return p.nodes[doc].cached(0, f) }

func (p *pair) claim(load, doc int) int {
	if load < 0 {
		return p.nodes[doc].claim(load, 0)
	}
	n, l := p.of(load)
	return n.claim(l, 0)
}

func (p *pair) shows(load, doc int, f row.Format) int {
	if load < 0 {
		return p.nodes[doc].shows(load, 0, f)
	}
	n, l := p.of(load)
	return n.shows(l, 0, f)
}

// Nobody writes through either.
func (p *pair) hold(*modelTx)                 {}
func (p *pair) release(*modelTx)              {}
func (p *pair) writeThrough(*modelTx, string) {}
func (p *pair) keep(*modelTx)                 {}

func (p *pair) state(b []byte) []byte { return p.nodes[1].state(append(p.nodes[0].state(b), '/')) }

// pairScenarios have a reader of the second node with the token of one of the first, whose
// answer is a load, a bypass, a load that was joined, a copy.
func pairScenarios() []scenario {
	one := foreign(modelTx{docs: []int{0, 1}})
	both := foreign(modelTx{docs: []int{0, 1}}, modelTx{docs: []int{0, 1}})
	return []scenario{
		{name: "a load or a copy", docs: 2, value: letters, txs: both,
			readers: []modelReader{{doc: 0}, {doc: 1, of: 1}}},
		{name: "a bypass", docs: 2, value: letters, txs: both,
			readers: []modelReader{{doc: 0, need: Now}, {doc: 1, of: 1}}},
		{name: "a copy on the other side", docs: 2, value: letters, txs: one,
			readers: []modelReader{{doc: 0, need: Now}, {doc: 1}, {doc: 1, of: 1}}},
		{name: "joined, or a copy of the load", docs: 2, value: letters, txs: one,
			readers: []modelReader{{doc: 0}, {doc: 0}, {doc: 1, of: 2}}},
	}
}

func TestModel_TokenOfAReadCoversIt(t *testing.T) {
	for _, sc := range pairScenarios() {
		for behind := range 2 {
			states, failures := explore(&sc, func() protocol { return newPair(behind, unbroken) })
			t.Logf("%s: %d states", sc.name, states)
			if states < 50 {
				t.Errorf("%s: only %d states: the scenario does not run", sc.name, states)
			}
			for _, f := range failures {
				t.Errorf("%s: %s", sc.name, f)
			}
		}
	}
}

// TestModel_TokenIsNotWhatIsApplied: a token that says what is applied, and no more, is caught
// by what the answer shows and, where nobody looks at that, by what the other node answers.
func TestModel_TokenIsNotWhatIsApplied(t *testing.T) {
	for i, sc := range pairScenarios() {
		for _, sc.blind = range []bool{false, i == 2} {
			_, failures := explore(&sc, func() protocol { return newPair(1, appliedOnly) })
			if len(failures) == 0 {
				t.Errorf("the check does not catch it in %q", sc.name)
				continue
			}
			t.Log(failures[0])
		}
	}
}
