package front

import "time"

// Every bound of what a client may have of hotrow, whatever it speaks, and why. What an operator
// can set has its default here. Sizes are bytes; what is beyond a bound is refused by name, unless
// the line says something else.
const (
	// Connections, of each listener. The metric is hotrow_connections_refused_total; see Admit.

	Connections = 65_536 // of a listener; a key-value listener has kv.max_clients of them
	Clients     = 10_000 // the default of kv.max_clients, which is Redis' own
	Handshakes  = 1024   // of TLS, at a time: others wait, for a handshake is the dearest request
	WrongTokens = 10     // before a connection ends: nobody guesses faster than it connects

	// Output that a peer does not take. The metric is hotrow_unsent_bytes.

	UnsentPeer      = 4 << 20          // of answers for one connection; a larger one is made alone
	UnsentAll       = 128 << 20        // of all connections
	UnsentSmall     = 64 << 10         // an answer that need not wait behind large ones
	UnsentSmallPeer = 3                // times as much as UnsentPeer, for one that has small ones
	UnsentWait      = 10 * time.Second // of a request for room: hotrow_unsent_refused_total
	OutputBytes     = 1 << 20          // before nothing more is read from a peer that takes nothing
	PushedBytes     = 256 << 10        // before what is pushed waits, for answers come first
	PushedLimit     = 2 * UnsentPeer   // at twice as much a peer is cut that takes no pushes

	// One answer.

	AnswerBytes   = 64 << 20         // documents of a key-value answer that wait for the peer
	ListBytes     = 8 << 20          // of an answer that is made as a whole; MaxList of options
	LoopListBytes = 1 << 20          // that a loop answers: who does not read it is in no budget
	ReplyBytes    = 64 << 10         // of a Redis command that reads no documents
	ProblemText   = 1024             // each text of an error that a client can make long
	ErrorText     = 400              // an error of memcached: clients read a line
	ClippedBytes  = 128              // of what a client has sent, in an error of Redis
	LogPath       = 1024             // of the keys, in a line of the access log
	ReadWait      = 30 * time.Second // of a read in the database whose request does not say
	WriteWait     = 30 * time.Second // the same of a write
	PositionWait  = 2 * time.Second  // for a position, in a command of Redis
	LinksWait     = 10 * time.Second // of a redirect for the database: visitors do not wait longer
	RelayFence    = time.Second / 4  // of what was relayed, to be seen in all answers
	ExampleWait   = 2 * time.Second  // of the index for its examples, which it can do without
	RandomKeys    = 100_000          // that resttest's random key is one of: they are kept
	RandomWait    = 30 * time.Second // of reading them

	// One request.

	BodyBytes       = 1 << 20          // the default of http.max_body, and of a value
	CommandKeys     = 10_000           // keys, or columns, of a command
	CommandBytes    = 2 << 20          // a command of Redis, besides the value of a write
	ArgumentBytes   = 64 << 10         // an argument that is no value of a write
	StrictBytes     = 16 << 10         // an argument of somebody whom nobody knows yet
	Arguments       = 1 << 20          // of a command; as Redis
	InlineBytes     = 64 << 10         // a command in one line; as Redis
	LineBytes       = 64 << 10         // a line of memcached: a get of many keys
	SwallowedBytes  = 1 << 30          // of a refused value: memcached can have none that is larger
	WriteReplyBytes = 1 << 10          // the reply to a write of memcached
	ItemRaces       = 100              // changes of others before a write of an item gives up
	WriteRaces      = 8                // the same of a row
	QueuedCommands  = 1000             // of a MULTI
	QueuedBytes     = 64 << 20         // of their arguments
	QueuedAll       = 256 << 20        // of the MULTIs of all connections
	BatchKeys       = 1000             // of one query of the database
	BatchBytes      = 256 << 10        // of the commands whose keys it has
	ListKeys        = 1000             // of one in.(...): each costs a look-up
	WriteRows       = 1000             // that one write changes; fewer if a list has fewer
	ListRows        = 100              // of a list that does not say
	AskedRows       = 1 << 20          // that a list or a SCAN may name; more is as much
	HostBytes       = 256              // a Host that a connection remembers; no name is longer
	HeaderWait      = 30 * time.Second // for the rest of a frame
	FrameBytes      = 128 << 10        // a frame of the wire: the longest packet, and around it
	PacketBytes     = 1 << 20          // a packet to a peer of the wire, whatever it can take
	PerfBytes       = 64 << 10         // a message that gofast's perf asks for
	CodeBytes       = 64               // the code of a link
	TargetBytes     = 8192             // the target of a link: browsers follow no longer one
	RepairedPath    = 3*CodeBytes + 64 // a path that is searched for a code: all of it escaped
	ComparedKeys    = 4096             // comparisons of the keys of a link's query

	// One connection of HTTP.

	HTTPHeaderBytes = 12 << 10          // of a head, less the 4 KiB that net/http adds
	HTTPHeaderWait  = 5 * time.Second   // for a head
	HTTPReadWait    = time.Minute       // for a whole request
	HTTPWriteWait   = time.Minute       // for an answer to be taken
	HTTPIdle        = 620 * time.Second // longer than balancers keep one (AWS 60 s, Google 600 s)
	HTTP2Streams    = 100               // that are not answered: what RFC 9113 recommends
	HTTP2Window     = 1 << 20           // of bodies that are not read, of all streams
	HTTP2Bodies     = 256 << 10         // of bodies in parts: others net/http reads as they come
	HTTP2BlockBytes = 32 << 10          // a header block as it is sent: twice what it may say
	HTTP2BlockParts = 64                // frames of a header block
	HTTP2Unsent     = 256 << 10         // that wait for windows: other answers are handed over then
	HTTP2Backlog    = 64 << 10          // that wait for the socket: then no more are made
	HTTP2BacklogLow = 16 << 10          // and so few before it goes on
	HTTP2PipeBytes  = 64 << 10          // of an answer of net/http that the loop has not taken
	EncodingBytes   = 128               // an Accept-Encoding that is remembered
	Encodings       = 64                // how many, of a loop
	AcceptBytes     = 256               // an Accept that is remembered
	Accepts         = 64                // how many
	AskedHeaders    = 32                // that a preflight is allowed
	TokensKept      = 4096              // Authorization headers that are remembered
	TokenBytesKept  = 2 << 20           // of them together, of an event loop
	ClaimValues     = 100               // of a claim that rows are compared with
	KeysWait        = 5 * time.Second   // before who has a JWT asks again whose keys are not known
	ScratchBytes    = 64 << 10          // of memory to write in that is kept for the next request

	// One connection of the wire and of the key-value protocols.

	KeyValueWait = time.Minute               // for the rest of a command
	KeyValueIdle = 10 * 365 * 24 * time.Hour // none: pools keep connections; keepalive asks
	WireIdle     = 10 * time.Minute          // clients of the wire send heartbeats
	Exchanges    = 1024                      // that are open on a connection of the wire
	ParkedKeys   = 64 << 10                  // of requests that wait: then nothing more is read
	StreamCredit = 1 << 20                   // that a client may stream before it is taken

	// One session of SQL, whose messages are passed on.

	SQLClients   = 1000             // the default of sql.max_clients: each is one of the database
	SQLLogins    = 64               // under way at a time: others wait
	SQLLogin     = 10 * time.Second // for a whole log-in, and to wait for the turn
	SQLCancels   = 64               // requests to cancel that are under way
	SQLStartup   = 10_000           // bytes of what a client begins with; as PostgreSQL
	SQLAuthBytes = 64 << 10         // of a message of a log-in; as PostgreSQL
	SQLChunk     = 32 << 10         // that are on their way in one direction, and not taken
	SQLBuffer    = 4 << 10          // of them where goroutines have a session, all the time
	SQLText      = 64<<10 + 256     // of a statement that is read, and its name
	SQLNames     = 512              // of the names in a message; longer ones are not followed
	SQLNamesKept = 10_000           // of a session
	SQLGroups    = 256              // that are timed at once, and statements of a group
	SQLLooks     = 250              // into memory a second; of more statements a part is chosen
	SQLLooksKept = 15_000           // of them are saved up: so many at once are all chosen
	SQLRecorded  = 16 << 20         // of answers that are on their way, and are to be kept
	SQLPlain     = 5                // messages of a group that memory can answer
	SQLKeepAlive = 30 * time.Second // memory answers a session, and the server hears nothing of it
	SQLAudit     = 10_000           // hits, of which one is compared with the server's answer
	SQLBind      = 64 << 10         // of a Bind that is read: values of a statement
	SQLState     = 64 << 10         // of the row by which a session tells its state
	SQLKept      = 1 << 20          // of an answer that is kept
	SQLShapes    = 1000             // of statements; others are counted together
	SQLTexts     = 4096             // whose shape is remembered
	SQLTextKept  = 2 << 10          // of such a text
	SQLNameBytes = 4 << 20          // of the texts that names of a session stand for
	SQLShapeByte = 2 << 10          // of a shape
	SQLLinger    = 2 * time.Second  // for a client to read the last words of its session

	// What clients are told of changes.

	TellWithin       = 250 * time.Millisecond // a client that keeps copies is not told later
	HeldForWrite     = 50 * time.Millisecond  // what may be its own waits for the write
	OwnWrites        = 4096                   // that are remembered: who wrote is not told
	InvalidationKeys = 64                     // of one message
	TrackedKeys      = 1_000_000              // of all clients: the oldest are forgotten, and told
	OwedKeys         = 4096                   // for a client that takes nothing; then all are told
	SubscribedNames  = 1000                   // channels, patterns and prefixes of a connection
	SubscribedBytes  = 256 << 10              // of their names: each may tell of a change
	Notices          = 4096                   // keys that wait for a subscriber; then it ends
	FollowedEvents   = 4096                   // that wait to be told; then all is read anew
	WatchHistory     = 4096                   // events that a watcher may have missed
	WatchBehind      = 1024                   // events that it may be behind; then it ends
	WatchWait        = 30 * time.Second       // that it may be behind
	HTTPWatches      = 100_000                // see hotrow_http_watches_refused_total
	HTTPWatchesOf    = 1000                   // of a token, or of an address of another machine
	PollWait         = 30 * time.Second       // of a request for a state that is new: Prefer: wait
	StreamWatches    = 100                    // documents and lists of one stream
	StateBytes       = 64 << 10               // of a state that is sent; a larger one is named
	StateBacklog     = 32 << 10               // not taken: then states are left out

	// What is kept for clients between requests.

	Cursors     = 10_000          // of SCAN, of all clients: who has most loses its oldest
	CursorLife  = 5 * time.Minute // without being asked
	MissSlots   = 1 << 14         // counters of those who guess codes: two may share one
	OrphanPaths = 1000            // paths without a link that a day's statistics name
)
