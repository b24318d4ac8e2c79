package resource

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

const (
	// maxKeptList is the largest list that is kept, in bytes.
	maxKeptList = 1 << 20

	// maxSpelling is the longest spelling that is remembered, in bytes.
	maxSpelling = 1 << 10

	// reasonSlots is of how many lists that are not kept it is remembered why.
	reasonSlots = 1 << 14

	// fewestVersions is how many bytes versions take at least: documents depend on some, too.
	fewestVersions = 512 << 10

	// maxVariants is how many representations, by format and variant, lists of a resource are
	// kept in.
	maxVariants = 32
)

// The kinds of what is kept of lists: see Set.Number. A list is a document whose key is what
// all spellings of its question have in common, and its variant; what is said of it besides, a
// List, is attached. A spelling is an alias of it: its key is a question as it was sent.
//
// Nothing tells the memory of changes: whether a list is good its versions say (fresh.ReadSet),
// and one that is not is replaced by the next load or goes like any other. A list is kept once
// it was missed twice, so that lists that are asked for once push out nothing.
const (
	kindLists     = "lists"
	kindSpellings = "spellings"
)

// A listStore is what a Set knows of its lists besides the memory.
type listStore struct {
	keeps    bool // lists at all
	versions int  // that the tags of a source share, of lists and of documents
	seed     maphash.Seed
	reasons  []atomic.Uint32

	// access changes whenever somebody else may read a resource than before. What a question
	// embeds, by its spelling alone, was looked at by the rules of its time.
	access atomic.Uint64
}

// seconds is the clock of lists.
func seconds() int64 { return inSeconds(monotonic()) }

// inSeconds returns a time of the caller's clock in seconds.
func inSeconds(now int64) int64 { return now / int64(time.Second) }

// newListStore returns a store whose versions take so many bytes; 0: it keeps nothing.
func newListStore(bytes int64) *listStore {
	return &listStore{keeps: bytes > 0, versions: int(max(bytes, fewestVersions) / 8),
		seed: maphash.MakeSeed(), reasons: make([]atomic.Uint32, reasonSlots)}
}

// A reason says why a list is not kept.
type reason uint8

// The reasons.
const (
	unheard   reason = iota // it was not asked for, or that is forgotten
	onceAsked               // it was missed for the first time
	tooLarge                // it is larger than a list that is kept may be
	discarded               // a change came while it was read
	evicted                 // others needed its room
	differed                // another answer to its question was of another state
)

const reasonBits = 1<<3 - 1

// hash returns what a list is known by among reasons.
func (s *listStore) hash(ref tier.Ref) uint64 { return maphash.Comparable(s.seed, ref) }

// note remembers why a list is not kept, for a while.
func (s *listStore) note(ref tier.Ref, why reason) { s.noteHash(s.hash(ref), why) }

func (s *listStore) noteHash(h uint64, why reason) {
	s.reasons[h>>32%reasonSlots].Store(uint32(h)&^reasonBits | uint32(why))
}

// reason returns why a list is not kept.
func (s *listStore) reason(ref tier.Ref) reason {
	h := s.hash(ref)
	if v := s.reasons[h>>32%reasonSlots].Load(); v&^reasonBits == uint32(h)&^reasonBits {
		return reason(v & reasonBits)
	}
	return unheard
}

// listKey returns the key of the list that answers a question in a variant.
func listKey(variant, question string) row.Key { return row.Key(variant + "\x00" + question) }

// splitListKey returns what listKey has put together.
func splitListKey(key row.Key) (variant, question string) {
	variant, question, _ = strings.Cut(string(key), "\x00")
	return variant, question
}

// spelling returns how a question is found by what was sent.
func (f *revision) spelling(of row.Format, raw string) tier.Ref {
	return tier.Ref{Resource: f.spellings, Format: of, Key: row.Key(raw)}
}

// spell notes that a question asks for a list.
func (f *revision) spell(as *listing) {
	ask := as.ask
	if !ask.Alone || len(ask.Raw) > maxSpelling {
		return
	}
	access := uint64(0)
	if len(embedded(ask.Query)) > 0 {
		if access = ask.Access; access != f.kept.access.Load() {
			return
		}
	}
	if of, ok := f.spelled(as); !ok || of != access {
		f.memory.PutAlias(f.spelling(as.ref.Format, ask.Raw), as.ref, access)
	}
}

// spelled reports whether a list is found by what was sent, and with which access; 0: with any.
func (f *revision) spelled(as *listing) (access uint64, ok bool) {
	var r tier.Reader
	defer r.End()
	spelling := f.spelling(as.ref.Format, as.ask.Raw)
	to, access, ok := r.Leads(f.memory, &spelling)
	return access, ok && to == as.ref
}

// A variant is what tells apart the representations of a list.
type variant struct {
	format row.Format
	name   string
}

// addVariant has evictOtherLists look for lists of a representation. It reports false when there
// are too many others.
func (f *revision) addVariant(ref tier.Ref) bool {
	name, _ := splitListKey(ref.Key)
	for v := (variant{ref.Format, name}); ; {
		old := f.variants.Load()
		var list []variant
		if old != nil {
			list = *old
		}
		if slices.Contains(list, v) {
			return true
		}
		if len(list) == maxVariants {
			return false
		}
		v.name = strings.Clone(v.name)
		list = append(slices.Clip(list), v)
		if f.variants.CompareAndSwap(old, &list) {
			return true
		}
	}
}

// evictOtherLists forgets the representations of a list that are of another state than what a
// load has read, but those that are about to be replaced; see fresh.Domain.NewSpace.
func (f *revision) evictOtherLists(l *fresh.Lease, _ *row.Document, stored bool) {
	read, variants := l.With.(*listRead), f.variants.Load()
	if variants == nil {
		return
	}
	var r tier.Reader
	defer r.End()
	for _, v := range *variants {
		ref := tier.Ref{Resource: f.listed, Format: v.format, Key: listKey(v.name, string(l.Key))}
		held := r.Peek(f.memory, &ref)
		if held == nil || read.agrees(ref, held) || stored && read.keeps(ref) {
			continue
		}
		f.memory.Drop(ref)
		f.kept.note(ref, differed)
	}
}
