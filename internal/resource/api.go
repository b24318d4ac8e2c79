package resource

import (
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Options say how a read may be answered. The zero Options are those of a
// plain request: JSON, from memory if it is fresh.
type Options struct {
	Format row.Format

	// NoCache reads the database now. It joins only a read that has not been
	// sent yet, and never gets a stale answer.
	NoCache bool

	// NoStale never gets a copy that is flagged as stale: while the feed lags the database
	// is read. It is for who cannot be told that an answer is one.
	NoStale bool

	// OnlyIfCached never reads the database: a miss is ErrNotCached.
	OnlyIfCached bool

	// Min is the position that the answer must include; the zero Token asks for
	// nothing. Wait bounds the wait for it (0: 100 ms, at most 2 s); after that
	// the database is read.
	Min  Token
	Wait time.Duration
}

// takesStale reports whether a copy that is flagged as stale is an answer.
func (o *Options) takesStale() bool { return !o.NoCache && !o.NoStale && o.Min.IsZero() }

// An Answer is one document, or the knowledge that there is none, with where
// it came from; or why there is no answer.
type Answer struct {
	Err    error         // nil: all else is set
	Doc    *row.Document // it may be Absent
	Key    row.Key       // canonical
	Origin Origin
	Token  Token         // covers what the answer shows
	Lag    time.Duration // how long ago the feed was known to be complete
	Steps  Steps
}

// Origin says where an answer came from, as Cache-Status tells it.
type Origin uint8

// The origins, with the Cache-Status that a front writes for each.
const (
	HitMemory Origin = iota // hit; detail=mem
	Stored                  // fwd=uri-miss; stored; detail=db
	Unstored                // fwd=uri-miss; detail=db
	Collapsed               // fwd=uri-miss; collapsed
	Requested               // fwd=request
	HitStale                // fwd=stale
	Bypassed                // fwd=bypass
	HitDisk                 // hit; detail=disk
)

// A Write is a change of one document that a front asks for.
type Write struct {
	Op     source.Op
	Key    row.Key    // "" for a create whose key is in Input or made by the database
	Input  *row.Input // nil for a delete
	Format row.Format // of the answer

	// Shape is what Input was decoded by. A body may take a while to arrive; when
	// the table has changed since, its values would go to other columns. nil:
	// the shape of now.
	Shape *row.Shape

	// IfMatch are the entity tags (with quotes, without the suffix of the
	// representation counting) of which the document must have one; "*": it
	// must exist. IfNoneMatch: it must have none of them; "*": it must not exist.
	// They are compared within the transaction.
	IfMatch, IfNoneMatch []string

	// Before is called within the transaction with the document as it was, nil when there
	// was none; more than once when the database wants the transaction again. It is not
	// called for a create. nil: nobody asks.
	Before func(*row.Shape, row.Values)

	As *source.Session // who writes, to a database that has roles; nil: hotrow's own user

	ReportTouched bool // asks for Result.Touched
	Identify      bool // asks for Result.Mark
}

// Result is what a Write did.
type Result struct {
	Answer  // the document after the write; Absent after a delete
	Created bool
	Touched []Touched // what it has dropped, here and in other resources
	Mark    uint64    // of its transaction, as Event.Mark has it; 0: it is not known
}

// Touched are documents of one resource that a write has changed.
type Touched struct {
	Resource *Resource
	Keys     []row.Key
	Whole    bool // any document of it
}

// Access is the rule of a resource: who may read and write it.
type Access struct {
	Read  Rule
	Write Rule
}

// A Rule is "public", "none", "role:NAME", or several roles with blanks between them.
type Rule string

// Allows reports whether a principal with these roles passes the rule. Nobody
// passes "none" or the empty rule. It allocates nothing.
func (u Rule) Allows(roles []string) bool {
	if u == "public" {
		return true
	}
	for rest := string(u); rest != ""; {
		var word string
		word, rest, _ = strings.Cut(rest, " ")
		if role, ok := strings.CutPrefix(word, "role:"); ok && slices.Contains(roles, role) {
			return true
		}
	}
	return false
}
