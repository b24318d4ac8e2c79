package tier

import (
	"fmt"

	"github.com/hotrow/hotrow/internal/arena"
)

// Check compares what m holds with what it says of it: each entry in the index is where its
// hash says, once, and everything is counted as it is. Puts and drops beside it may look
// wrong: what is, is so the next time too. It walks over everything.
func (m *Memory) Check() (wrong []string) {
	c := checker{m: m, held: make(map[kind]Share), seen: make(map[arena.Ref]bool)}
	c.s = m.arena.Enter()
	defer c.s.Leave()
	for i := range m.index.stripes {
		c.stripe(i)
	}
	c.count("entries", m.entries.Load(), c.entries)
	c.count("absences", m.negative.Load(), c.negative)
	c.count("bytes of absences", m.absences.Load(), c.absences)
	c.count("bytes of compressed copies", m.copyBytes.Load(), c.copyBytes)
	for _, s := range m.Shares() {
		h := c.held[kind{s.Resource, s.Format}]
		if h.Entries != s.Entries || h.Bytes != s.Bytes {
			c.say("%d documents of a resource are counted with %d bytes, %d are held with %d",
				s.Entries, s.Bytes, h.Entries, h.Bytes)
		}
		delete(c.held, kind{s.Resource, s.Format})
	}
	for _, h := range c.held {
		c.say("%d documents of a resource are held and not counted", h.Entries)
	}
	c.count("entries of the arena", int64(m.arena.Stats().Entries), int64(len(c.seen)))
	return append(c.wrong, m.arena.Check()...)
}

type checker struct {
	m     *Memory
	s     arena.Section
	held  map[kind]Share
	seen  map[arena.Ref]bool
	wrong []string

	entries, negative, absences, copyBytes int64
}

func (c *checker) say(format string, args ...any) {
	c.wrong = append(c.wrong, "memory: "+fmt.Sprintf(format, args...))
}

func (c *checker) count(what string, counted, held int64) {
	if counted != held {
		c.say("%d %s are counted, %d are held", counted, what, held)
	}
}

// stripe looks at all that is in a stripe.
func (c *checker) stripe(i int) {
	st := &c.m.index.stripes[i]
	st.mu.Lock()
	defer st.mu.Unlock()
	used := 0
	for b := range st.inUse {
		for j := range b {
			if word := b[j].Load(); word != 0 {
				used++
				c.word(st, b, word)
			}
		}
	}
	if n := st.n.Load(); n < st.most {
		for i := range st.bucket(n) {
			if st.bucket(n)[i].Load() != 0 {
				c.say("an entry is in a bucket that is not in use")
			}
		}
	}
	if used != st.used {
		c.say("stripe %d counts %d entries, and has %d", i, st.used, used)
	}
}

// word looks at an entry that is in a bucket.
func (c *checker) word(st *indexStripe, b *bucket, word uint64) {
	x := itemOf(c.s.View(refOf(word)))
	of := x.ref()
	tag := tagOf(c.m.index.hash(&of))
	home, other := st.both(tag)
	if c.m.index.stripe(tag) != st || uint32(word) != tag || b != home && b != other {
		c.say("an entry is where nobody looks for it")
	}
	c.entry(refOf(word), &x)
}

// entry counts an entry with its copies.
func (c *checker) entry(ref arena.Ref, x *item) {
	if c.seen[ref] {
		c.say("an entry is in the index twice")
	}
	c.seen[ref] = true
	c.entries++
	if x.absent() {
		c.negative++
		c.absences += c.m.takes(x)
	}
	k := kind{x.ref().Resource, x.format}
	h := c.held[k]
	bytes := c.m.takes(x)
	if n := x.attachment(); n != 0 {
		bytes += attachedBytes(c.m.attached.get(n))
	}
	c.held[k] = Share{Entries: h.Entries + 1, Bytes: h.Bytes + uint64(bytes)}
	for next := x.copies(); next != 0; {
		if c.seen[next] {
			c.say("a copy is of two documents")
			return
		}
		c.seen[next] = true
		of := itemOf(c.s.View(next))
		c.copyBytes += c.m.takes(&of)
		next = of.copies()
	}
}
