package resource

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/hotkeys"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A Resource is a named set of documents. It stays the same object while its
// configuration, or the table under it, changes: what changes is its revision.
type Resource struct {
	hot      *hotkeys.Keys // is told of reads and changes
	name     string
	revision atomic.Pointer[revision]
	rules    atomic.Pointer[rules]
	counts   counts
	watch    hub

	listWatches listWatches

	warmed warmProgress

	tally   sync.Mutex // guards tallies
	tallies []*Tally
}

// A revision is a resource as compiled for one configuration and one state of the
// catalogue. A new revision has a number of its own in the tiers, so that what the
// old one kept is out of reach.
type revision struct {
	r      *Resource
	spec   Spec // as of when it was compiled; what it says of requests, rules say
	src    *sourceState
	plan   source.Plan  // nil: not compiled yet, the database was not there
	table  *query.Table // what queries may ask about; nil: none, or no plan
	key    row.KeyType
	wide   bool
	number uint32
	space  *fresh.Space
	memory *tier.Memory // nil: pass-through

	listed       uint32                    // the number of its lists in memory
	spellings    uint32                    // and of their spellings
	variants     atomic.Pointer[[]variant] // in which lists have been kept
	kept         *listStore
	lists        *fresh.Space    // nil: lists are not kept
	listQuestion *fresh.Question // what a list of whole documents depends on
	rowQuestion  *fresh.Question // what a list of columns does; nil: the same
	root         *listRoot       // nil: lists depend on all rows of their tables
	waiting      sync.Map        // of *waiters, by the *fresh.Lease that they wait for

	docDeps *docDeps // nil: changes always say which documents they are of

	disk   *tier.Disk // nil: none, or one that cannot keep these documents
	copier *copier

	lanes                 []*lane // of the tables that it reads
	sample, sampleOfLists sample  // of what was stored, for the auditor

	// asked has a bit for each format of which there has been a load: of the others
	// memory has no copy.
	asked atomic.Uint32

	refused   atomic.Pointer[error] // why it did not compile when the database came; nil: it did
	renewed   int64                 // when it was last compiled again; guarded by src.compiling
	complaint string                // why it did not compile; the same

	// definition is a version that lists of other resources depend on which embed rows of
	// this one: it moves when the revision is replaced or held. unverified is true meanwhile.
	definition *fresh.Table
	unverified atomic.Bool

	schema       schemaState
	verification atomic.Pointer[verification] // which loads wait for; nil: none
	excluded     atomic.Pointer[string]       // why no feed tells of it; nil: one does
	again        *recompilation               // without a feed: the last; guarded by src.apply
}

// Name returns the name, as in the path.
func (r *Resource) Name() string { return r.name }

// Source returns the name of its source in the configuration.
func (r *Resource) Source() string { return r.revision.Load().src.name }

// Shape returns how its documents are made; nil while the database has not been
// reached since the start.
func (r *Resource) Shape() *row.Shape {
	f := r.revision.Load()
	if f.plan == nil {
		return nil
	}
	f.recompileSoon()
	return f.plan.Shape()
}

// KeyType returns the columns of its key.
func (r *Resource) KeyType() row.KeyType { return r.revision.Load().key }

// Plan returns the compiled resource, nil while there is none.
func (r *Resource) Plan() source.Plan { return r.revision.Load().plan }

// Spec returns the configuration of the resource.
func (r *Resource) Spec() Spec { return r.rules.Load().Spec }

// Access returns who may read and write it.
func (r *Resource) Access() Access { return r.rules.Load().Access }

// AccessVersion changes whenever it changes who may read one of the resources.
func (r *Resource) AccessVersion() uint64 { return r.revision.Load().kept.access.Load() }

// Writable reports whether it takes writes at all.
func (r *Resource) Writable() bool { return r.rules.Load().Writable }

// Allows reports whether the configuration serves an operation.
func (r *Resource) Allows(op source.Op) bool {
	s := r.rules.Load()
	return s.Writable && (s.Methods == nil || slices.Contains(s.Methods, methods[op]))
}

// methods are the operations' names in the configuration.
var methods = [...]string{
	source.OpCreate: "post", source.OpReplace: "put", source.OpMerge: "patch",
	source.OpDelete: "delete",
}

// MaxLimit returns the largest limit of a list.
func (r *Resource) MaxLimit() int { return r.revision.Load().spec.MaxLimit }

// Get is Load of one document. One in memory is answered without a lock or a log line, in
// memory of its own; Lookup does not copy.
func (r *Resource) Get(ctx context.Context, key row.Key, o Options) (Answer, error) {
	// Fast path: memory may answer.
	if o.takesStale() {
		f := r.revision.Load()
		at := f.src.asOf(monotonic())
		if doc, state, age := f.lookup(key, o.Format, &at, false); state != Miss {
			return f.remembered(key, doc, state, age, &at), nil
		}
	}

	// Slow path: another spelling of the key, a token, a load.
	a := r.Load(ctx, []row.Key{key}, o)[0]
	return a, a.Err
}

// Kept reports whether memory, or the disk behind it, has a document of key in any
// revision, or the knowledge that there is none.
func (r *Resource) Kept(key row.Key) (bool, error) {
	f := r.revision.Load()
	if f.plan == nil || f.memory == nil {
		return false, nil
	}
	k, err := f.canonical(key)
	if err != nil {
		return false, err
	}
	return f.keepsKey(k, false), nil
}

// Example returns a key that exists, for the index page; "" when there is none.
func (r *Resource) Example(ctx context.Context) row.Key {
	f := r.revision.Load()
	if f.plan == nil {
		return ""
	}
	found, err := f.plan.List(ctx, nil, 2) // no path has the key of the first if that is empty
	if err != nil || len(found) == 0 {
		return ""
	}
	return cmp.Or(found[0].Key, found[len(found)-1].Key)
}
