package ops

import (
	"fmt"
	"strconv"
	"time"
)

// A Snapshot is what a running hotrow counts, at one moment. Counters begin at
// the start of the process and never go down. Labels (protocols, resources,
// sources) are few: they come from the configuration, never from requests.
type Snapshot struct {
	Requests     []Requests
	Resources    []Resource
	Tiers        []Tier
	Disk         *Disk // nil: there is none
	Feeds        []Feed
	Pools        []Pool
	Queries      []Queries
	Watchers     int    // clients that watch now
	WatchDropped uint64 // watchers cut off because they did not keep up
	Panics       uint64 // caught: see workers.Caught
	AccessLog    AccessLog
	Spans        *Spans // nil: none are sent
	Copies       Copies
	Unsent       Unsent
	Refused      []Refused // by listener
	Watches      Watches
	JWT          *JWT      // nil: there are none
	Fallback     *Fallback // nil: there is none
	HTTP         []HTTP    // by listener
	Wire         *Wire     // nil: it is not served
	RESP         *RESP     // nil: it is not served
	Memcache     *Memcache // the same
	SQL          *SQL      // the same
	Links        *Links    // nil: there is no shortener
	Alarms       []string  // what is lost and does not come back, one sentence each
}

// A Refused is what one listener has refused.
type Refused struct {
	Listener    string
	Connections int64 // that were one too many
	OfOne       int64 // that were one too many of their address
	Handshakes  int64 // that waited too long for others
}

// An HTTP is what the connections of one listener of HTTP do.
type HTTP struct {
	Listener string
	Open     int64  // connections now
	Two      int64  // of those, the ones that speak HTTP/2
	Streams  uint64 // requests over HTTP/2
	Refused  uint64 // of those, because a connection had too many at once
	Canceled uint64 // streams that clients have reset before the answer was sent
	Broken   uint64 // connections of HTTP/2 ended because of what their peer sent
}

// A Wire is what the connections of the wire protocol do.
type Wire struct {
	Open             int    // connections now
	FramesIn         uint64 // of connections that are or were
	FramesOut        uint64
	BytesIn          uint64
	BytesOut         uint64
	Broken           uint64 // connections ended because of what their peer sent
	Batches          uint64 // reads of the database for several requests at once
	Watchers         int    // watches that are open
	Events           uint64 // told to watchers, one for each of them
	SlowWatchersLost uint64 // watchers cut off because they did not keep up
}

// A Memcache is what the connections of memcached clients do.
type Memcache struct {
	Open     int    // connections now
	Rejected uint64 // connections beyond kv.max_clients
	Broken   uint64 // connections ended because of what their peer sent
	Denied   uint64 // tokens that were no good
	Commands uint64
	Batches  uint64 // reads of the database, each for all that a burst missed of a resource
	Unknown  uint64 // keys that name no resource
	NoKey    uint64 // keys that no row can have
}

// An SQL is what sessions of PostgreSQL do that are passed on.
type SQL struct {
	Open     int               // sessions now
	Logins   map[string]uint64 // connections, by what became of them
	Cancels  map[string]uint64 // requests to cancel, by what became of them
	Groups   uint64            // answers of the database, each up to its ReadyForQuery
	BytesIn  uint64            // of clients, after they logged in
	BytesOut uint64            // for them
	Shapes   int               // of statements that are told apart
	Hits     uint64            // groups that memory would have answered
	Misses   uint64            // groups that it could have answered, and had no good copy
	Passes   map[string]uint64 // groups for which it was not looked into, by why
	Copies   int               // answers that are known
	Older    uint64            // hits of rows that had changed a moment ago
	Wrong    uint64            // hits whose answer would have been wrong

	Uncompared uint64  // hits for which the database may give several answers
	Saved      float64 // seconds in the database that hits took
	Closed     float64 // seconds for which writes of clients have kept memory from answering
	Orphans    int     // writes whose session was lost, and may go on at the database

	Reasons []SQLReason // statements, by why memory could not answer them
}

// An SQLReason is what was counted of statements for one reason.
type SQLReason struct {
	Reason  string // "eligible", or the code of why memory could not answer
	Count   uint64
	Seconds float64 // in the database
}

// A RESP is what the connections of Redis clients do.
type RESP struct {
	Open     int    // connections now
	Rejected uint64 // connections beyond kv.max_clients
	Broken   uint64 // connections ended because of what their peer sent
	Denied   uint64 // passwords that were no good
	Commands uint64
	Batches  uint64 // reads of the database, each for all that a pipeline missed of a resource
	Unknown  uint64 // keys that name no resource
	NoKey    uint64 // keys that no row can have

	TrackingClients int    // connections whose clients keep copies
	TrackingKeys    int64  // that are tracked for them
	Invalidations   uint64 // keys that they were told of, each as often as it was
	Flushes         uint64 // times that everybody was told that anything may have changed
	Subscribers     int    // connections that hear the channels of keys
	Late            uint64 // of them, closed because they did not take in time what they heard
}

// Spans are those of traces, by what became of them.
type Spans struct {
	Sent    uint64
	Dropped uint64 // too many waited
	Failed  uint64 // the collector was away, or refused them
}

// Copies are the compressed copies of documents, by what became of them.
type Copies struct {
	Made    uint64
	Refused uint64 // compressing does not pay
	Dropped uint64 // too many waited to be made
	Late    uint64 // the document had gone, or is too large to be kept with a copy
}

// An Unsent is what is made for clients that have not read it yet.
type Unsent struct {
	Bytes   int64  // of answers
	Waiting int    // requests that wait for room to be answered
	Refused uint64 // requests that have waited in vain
}

// Watches are what is followed over HTTP.
type Watches struct {
	Open    int
	Events  uint64 // sent
	Refused uint64 // one too many
}

// AccessLog is what became of the lines of the access log.
type AccessLog struct {
	Lines   uint64 // written
	Dropped uint64 // not written: there was no room for them, or the file failed
}

// Requests are those of one protocol for one resource ("" for none).
type Requests struct {
	Proto    string // http, wire, memcached
	Resource string
	Codes    map[string]uint64 // by status code, or the protocol's name for it
	Duration Histogram
}

// A Resource is one resource's use of the cache.
type Resource struct {
	Name          string        `json:"name"`
	Source        string        `json:"source"`
	Lookups       []Lookups     `json:"lookups"`
	Fills         Fills         `json:"fills"`
	Invalidations Invalidations `json:"invalidations"`
	Cacheability  float64       `json:"cacheability"` // of fills that may be stored, 0 to 1
	Bypass        uint64        `json:"bypass"`       // misses that no copy could answer
	Watchers      int           `json:"watchers"`     // that follow it now
	Warm          *Warm         `json:"warm,omitempty"`
	Memory        []Share       `json:"memory,omitempty"` // by representation
	Lists         Lists         `json:"lists"`
	Words         *Words        `json:"words,omitempty"` // nil: changes always name its documents
}

// Lists are requests for lists, by what memory had, and those that were not kept.
type Lists struct {
	Hits     uint64 `json:"hits"`
	Absent   uint64 `json:"absent"`  // it was not in memory
	Evicted  uint64 `json:"evicted"` // it was, and others needed its room
	Moved    uint64 `json:"moved"`   // it had changed
	Dirty    uint64 `json:"dirty"`   // a change of it was not settled
	Bypassed uint64 `json:"bypass"`  // memory was not to answer
	Once     uint64 `json:"once"`    // not kept: it was asked for once
	TooLarge uint64 `json:"too_large"`

	Discarded uint64 `json:"discarded"` // not kept: a change came while it was read
	Unchanged uint64 `json:"unchanged"` // read again, and found as they were
}

// Words are about documents of which changes do not always name the keys.
type Words struct {
	Coarse uint64 `json:"coarse"` // stored, and depend on all rows: they were read with too many
}

// A Share is what a resource takes of the memory in one kind and representation.
type Share struct {
	Kind    string `json:"kind"` // rows, lists, spellings of these
	Format  string `json:"format"`
	Entries uint64 `json:"entries"`
	Bytes   uint64 `json:"bytes"` // without compressed copies
}

// A Warm is how far a resource has been loaded before anybody asked; nil: it is
// not to be.
type Warm struct {
	Running bool   `json:"running"`
	Keys    uint64 `json:"keys"` // looked at in this round
	Rounds  uint64 `json:"rounds"`
}

// Lookups are those in one tier, by their result.
type Lookups struct {
	Tier     string `json:"tier"`
	Hit      uint64 `json:"hit"`
	Miss     uint64 `json:"miss"`
	Stale    uint64 `json:"stale"`    // a copy was there, and not fresh
	Negative uint64 `json:"negative"` // a hit that says that there is no row
}

// Fills are loads, by their end, and what was stored without one.
type Fills struct {
	Stored    uint64 `json:"stored"`
	Discarded uint64 `json:"discarded"` // a change had come during the load
	Collapsed uint64 `json:"collapsed"` // waited for the load of another request
	Error     uint64 `json:"error"`
	Written   uint64 `json:"written"` // no load: stored as a write has read it back
}

// Invalidations are documents dropped, by what caused it.
type Invalidations struct {
	Feed  uint64 `json:"feed"`
	Write uint64 `json:"write"`
	Admin uint64 `json:"admin"`
	Gap   uint64 `json:"gap"` // the feed may have missed something
}

// A Tier is what one tier holds.
type Tier struct {
	Name      string `json:"name"` // memory, disk
	Entries   uint64 `json:"entries"`
	Negative  uint64 `json:"negative"`
	Bytes     uint64 `json:"bytes"`
	MaxBytes  uint64 `json:"max_bytes"`
	Hits      uint64 `json:"hits"`
	Misses    uint64 `json:"misses"`
	Evictions uint64 `json:"evictions"`
	CopyBytes uint64 `json:"copy_bytes"` // of Bytes, those of compressed copies

	// Of memory alone. EvictionAge is how long what is evicted was there; 0: nothing was evicted.
	LimboBytes  uint64    `json:"limbo_bytes,omitempty"` // freed, and not to be used yet
	WasteBytes  uint64    `json:"waste_bytes,omitempty"` // what rounding and free slots take
	EvictionAge Seconds   `json:"eviction_age,omitempty"`
	HitRatio    *HitRatio `json:"hit_ratio,omitempty"` // nil: not known yet
	Sizes       []Size    `json:"sizes,omitempty"`
}

// A Size is what copies of about one size take.
type Size struct {
	Most  int    `json:"up_to,omitempty"` // bytes with key and head; 0: larger than the rest
	Bytes uint64 `json:"bytes"`
	Free  uint64 `json:"free"` // of Bytes, where there is room for others of this size
}

// A HitRatio is which part of the requests memory answers lately, 0 to 1, and what it would
// answer with half and with twice the memory, as small models of it say.
type HitRatio struct {
	Half  float64 `json:"half"`
	Now   float64 `json:"now"`
	Twice float64 `json:"twice"`
}

// A Disk is what the cache on disk does besides keeping documents.
type Disk struct {
	Up            bool
	Waiting       int    // documents put and dropped that are not on disk yet
	WaitingBytes  uint64 // of those documents
	Commits       uint64
	CommitTime    time.Duration // of all of them
	CommitAge     time.Duration // since all that waited began to be written
	Refused       uint64        // documents: too many waited, or the disk was full
	BrokenRecords uint64
	BrokenFiles   uint64
	UsedBytes     uint64 // of the file's pages
	FreeBytes     uint64
}

// A Feed is the state of one source's change feed.
type Feed struct {
	Source          string  `json:"source"`
	Mode            string  `json:"mode"`
	Why             string  `json:"why,omitempty"` // that mode, and no better one
	Up              bool    `json:"up"`            // it is attached to its database
	State           string  `json:"state"`         // one of FeedStates
	Lag             Seconds `json:"lag_seconds"`
	Rests           bool    `json:"idle,omitempty"` // nobody reads: Lag is since the last look
	Gaps            uint64  `json:"gaps"`
	FenceFailures   uint64  `json:"fence_failures,omitempty"`  // not shown to be complete
	Probes          uint64  `json:"probes,omitempty"`          // that settle transactions
	Elsewhere       uint64  `json:"reads_elsewhere,omitempty"` // see resource
	LeftOut         int     `json:"left_out,omitempty"`        // tables that it cannot follow
	Events          uint64  `json:"events"`
	Position        string  `json:"position"` // as the database writes it
	Epoch           uint64  `json:"epoch"`
	EpochAge        Seconds `json:"epoch_age_seconds,omitempty"` // since it began
	EpochWhy        string  `json:"epoch_why,omitempty"`         // why it began
	Unsettled       int     `json:"unsettled"`                   // changes that reads may not see
	UnsettledOldest Seconds `json:"unsettled_oldest_seconds"`    // 0: none
	ListTemplates   int     `json:"list_templates,omitempty"`    // see hotrow_cache_list_templates
	Audited         uint64  `json:"audited,omitempty"`           // compared with the source
	AuditStale      uint64  `json:"audit_stale,omitempty"`       // of them, those that were wrong
}

// FeedStates returns the states that a feed may be in: complete within
// stale_after, behind that, not attached for long, or none configured.
func FeedStates() []string { return []string{"fresh", "lagging", "down", "none"} }

// A Pool is one source's connections.
type Pool struct {
	Source               string
	InUse, Idle, Waiting int
}

// Queries are those of one kind to one source.
type Queries struct {
	Source   string
	Op       string // load, list, write, fence, settle
	Duration Histogram
}

// A Histogram counts durations.
type Histogram struct {
	Bounds []float64 // seconds, ascending: upper bounds, inclusive
	Counts []uint64  // one for each bound, not summed up, and one for all beyond
	Sum    float64   // seconds
}

// Seconds is a duration that JSON shows in seconds.
type Seconds time.Duration

// MarshalJSON writes s as a number of seconds.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'f', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("a number of seconds: %w", err)
	}
	*s = Seconds(n * float64(time.Second))
	return nil
}
