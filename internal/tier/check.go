package tier

import "fmt"

// Check compares what m holds with what it says of it: each document in the index is one of
// the cache, rows and absences are apart, and bytes are counted as they are. Puts and drops
// beside it may look wrong: what is, is so the next time too. It walks over everything.
func (m *Memory) Check() (wrong []string) {
	say := func(format string, args ...any) {
		wrong = append(wrong, "memory: "+fmt.Sprintf(format, args...))
	}
	m.rows.cache.CleanUp()
	m.absences.cache.CleanUp()
	held := make(map[kind]Share)
	copies := uint64(0)
	for _, s := range []*segment{&m.rows, &m.absences} {
		bytes := uint64(0)
		for ref, d := range s.cache.All() {
			if d.Absent() != (s == &m.absences) {
				say("a row is kept among absences, or an absence among rows")
			}
			bytes += m.sizes.entry(ref, d)
			copies += m.sizes.copies(d.NextCopy())
			k := kind{ref.Resource, ref.Format}
			h := held[k]
			held[k] = Share{Entries: h.Entries + 1, Bytes: h.Bytes + m.sizes.plain(ref, d)}
		}
		if counted := s.cache.WeightedSize(); counted != bytes {
			say("%d bytes are counted, %d are held", counted, bytes)
		}
	}
	if counted := m.copyBytes.Load(); counted != int64(copies) {
		say("%d bytes of compressed copies are counted, %d are held", counted, copies)
	}
	for _, s := range m.Shares() {
		h := held[kind{s.Resource, s.Format}]
		if h.Entries != s.Entries || h.Bytes != s.Bytes {
			say("%d documents of a resource are counted with %d bytes, %d are held with %d",
				s.Entries, s.Bytes, h.Entries, h.Bytes)
		}
		delete(held, kind{s.Resource, s.Format})
	}
	for _, h := range held {
		say("%d documents of a resource are held and not counted", h.Entries)
	}
	for i := range m.index.stripes {
		if astray := m.checkStripe(&m.index.stripes[i]); astray > 0 {
			say("%d places of the index have no document of the cache, or are miscounted", astray)
		}
	}
	return wrong
}

// checkStripe returns how many documents of a stripe the cache does not hold, and by how many
// the stripe counts wrong.
func (m *Memory) checkStripe(s *indexStripe) (astray int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used, t := 0, s.table.Load()
	for i := range t.buckets {
		for j := range t.buckets[i].docs {
			d := t.buckets[i].docs[j].Load()
			if d == nil {
				continue
			}
			used++
			ref := Ref{Resource: d.Owner(), Format: d.Format(), Key: d.Key()}
			if e, ok := m.rows.cache.GetEntryQuietly(ref); !ok || e.Value != d {
				astray++
			}
		}
	}
	return astray + max(used-s.used, s.used-used)
}
