// Package eventloop moves bytes between sockets and protocols: what memory holds is
// answered on the connection's own loop, and all else goes to net/http.
//
// On Linux a connection of TCP or of a unix socket belongs to one of a few epoll
// loops, under TLS too once its handshake is done; elsewhere it has a
// goroutine. Both call the same Protocol, a pure step from bytes to bytes. A
// message that the protocol hands over goes to net/http (see MessageServer), which gets a
// connection that delivers exactly this message, and the socket comes back after
// the answer. A connection to another server can be joined with one of a loop (see Link).
//
// The package knows no protocol and no document. It opens no listener and no
// connection; it owns those that it is given.
//
// Who owns which buffer, and until when, says the table at poisoned.
package eventloop

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
)

// A Protocol turns the bytes of a connection into answers. It is called by one
// goroutine at a time for each connection, the one that owns it, and must not
// block. Panics end the connection only.
type Protocol interface {
	// Open appends what is sent before anything is read.
	Open(c *Conn, out []byte) []byte

	// Step consumes whole requests at the front of in and appends their
	// answers to out. It returns how many bytes it has consumed, the grown
	// out, and what is next. in is never empty and valid during the call only;
	// out belongs to the event loop, may hold earlier answers, and must only be
	// appended to. Step does not change in.
	Step(c *Conn, in, out []byte) (n int, grown []byte, next Next)

	// Tick is called every Config.Tick and after Conn.Poke, except while the
	// connection is handed over. It may append frames whose order does not matter, and
	// return More or Close.
	Tick(c *Conn, out []byte) (grown []byte, next Next)
}

// An Ender is a Protocol that wants to know when a connection has ended. The
// call is the last one for the connection.
type Ender interface{ End(c *Conn) }

// A LastReader is a Protocol that wants what it has not consumed when the peer of the client of a
// Link has ended its side: rest, which no Step will see again. It may Pass it on.
type LastReader interface{ Rest(c *Conn, rest []byte) }

// A Prefetcher is a Protocol that can use to see the first bytes of several
// connections before it steps over any of them, to begin what takes long. It is
// a hint: Step gets the same bytes whatever Prefetch does, and is also called
// without it. inputs are valid during the call only.
type Prefetcher interface {
	Prefetch(s Scope, inputs [][]byte)
}

// A Scope is state that the connections of a loop share, such as the part of an
// answer that is the same for all of them in one second. Only one goroutine
// uses it at a time. Step finds it in Conn.Scope.
type Scope interface {
	// Wake is called once per wake-up, before anything else.
	BeginTurn(now time.Time)
}

// A Drainer is a Protocol that Conn.Below tells of output that was taken. Drained is
// called by any goroutine, but not within another call of the Protocol.
type Drainer interface{ Drained(c *Conn) }

// An Expirer is a Protocol that has a last word for a peer that has not sent a request in
// time (Config.Header, Config.Idle). The connection is closed behind it.
type Expirer interface {
	Expired(c *Conn, out []byte) []byte
}

// Next is what Step wants done with the connection.
type Next uint8

const (
	// More: no whole request is left in the input. Write the answers and read
	// on.
	More Next = iota
	// Flush: there are FlushSize bytes of answers or more. Write them and call
	// Step again.
	Flush
	// Again: the output ends within an answer, whose rest needs no input. Write what
	// there is, and call Step again when the peer has taken enough of it and others
	// have had their turn, with what was not consumed, which may be nothing. What is
	// given to Send comes behind the answer. That holds over Parked.
	Again
	// Parked: the answer will come by one call of Conn.Resume. The input waits
	// until then, so that answers keep the order of requests.
	Parked
	// Stream: for Conn.ResumeThen alone. The answer has begun, and what is given to Send is
	// its rest, in order. The connection takes no further request. It ends when its peer has
	// ended its side, or by ResumeThen with Close.
	Stream
	// HandOver: the connection, beginning with what was not consumed, is for
	// Config.HandedOver.
	HandOver
	// Close: write the answers, then close.
	Close
)

// FlushSize is how long the output may become before Step returns Flush.
const FlushSize = 64 << 10

// A turn of a connection, in which others wait, ends behind so many bytes of answers.
const turnSize = 256 << 10

// processors is how many Go used when the process began. Threads that are added
// beside the loops are not for more loops.
var processors = runtime.GOMAXPROCS(0)

// keptOutput is how large an output buffer may be that is kept for later.
const keptOutput = 1 << 20

// Config says how connections are served. A zero field takes its default.
type Config struct {
	Proto Protocol
	HTTP2 Protocol // of connections that have agreed on h2 under TLS; nil: close them
	// Preface is what a connection without TLS begins with that is HTTP2's; "": none is.
	Preface string

	HandedOver func(Borrowed) // gets what is handed over; must not block; nil: close
	Scope      func() Scope   // makes the state of a loop; nil: none

	TLS *tls.Config // speak TLS; nil: do not
	// NotTLS returns what a peer is told whose first bytes are begin in place
	// of a handshake; nothing, or nil: nothing.
	NotTLS func(begin [5]byte) []byte

	Loops      int  // epoll loops; 0: one per processor
	Goroutines bool // a goroutine per connection even where loops are possible

	Header time.Duration // to send one request, from its first byte: 5 s
	Idle   time.Duration // between requests: 60 s
	Write  time.Duration // without progress in taking an answer: 30 s
	Grace  time.Duration // for clients to notice a shutdown: 200 ms
	Tick   time.Duration // between calls of Protocol.Tick; 0: never

	// MaxInput bounds the bytes of one request that Step has to see at once:
	// 64 KiB. A longer one is closed.
	MaxInput int
	// MaxOutput bounds what the peer does not take: 64 KiB. Beyond it nothing
	// more is read from the connection; at twice as much from Conn.Send the
	// connection is cut. A protocol that uses Send sets it to several times
	// its largest message.
	MaxOutput int
	// MaxUnread is MaxOutput for what is read: beyond it nothing more is. 0: MaxOutput.
	MaxUnread int

	// Admit bounds the connections and the handshakes of TLS, which wait for Header at most.
	Admit admit.Bounds
	// Refusal returns what a peer without TLS is told whose connection is one too many; nil:
	// nothing. Any goroutine calls it.
	Refusal func() []byte

	// Meter makes what is told of the output that a new peer does not take. nil: nobody is.
	Meter func() Meter

	Log *slog.Logger // nil: discard
}

// A Meter is told of every byte that one peer has not taken: what was given to Resume and
// Send, what the socket does not take, and what a Protocol says by Conn.Keep. Any goroutine
// calls it.
type Meter interface {
	// Untaken says that there are so many bytes more, or fewer: the peer has taken them.
	Untaken(change int64)
	// Close says that the connection has ended.
	Close()
}

// withDefaults returns c with its zero fields filled in.
func (c Config) withDefaults() Config {
	defaults := []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.Header, 5 * time.Second}, {&c.Idle, time.Minute},
		{&c.Write, 30 * time.Second}, {&c.Grace, 200 * time.Millisecond},
	}
	for _, d := range defaults {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.Loops <= 0 {
		c.Loops = processors
	}
	if c.MaxInput <= 0 {
		c.MaxInput = 64 << 10
	}
	if c.MaxOutput <= 0 {
		c.MaxOutput = 64 << 10
	}
	c.MaxUnread = cmp.Or(c.MaxUnread, c.MaxOutput)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// ErrClosed is what a listener's end looks like when the server has closed it.
var ErrClosed = errors.New("eventloop: server closed")

// A Borrowed is a connection that is away from the event loop until Return or Close, of
// which the first call counts. Reads and writes obey deadlines as net.Conn's
// do. Every method may be called by any goroutine.
type Borrowed interface {
	net.Conn
	CloseWrite() error
	// Unread returns the bytes that were read and not consumed. They are the
	// first of the message, and Read does not deliver them. The caller owns
	// them.
	Unread() []byte
	// Return gives the connection back. unread, whose owner is the event loop from
	// now on, goes in front of what the peer sends next.
	Return(unread []byte)
	// Draining reports whether the server is shutting down: say so in the
	// answer.
	Draining() bool
	// Gone returns a channel that is closed when the peer is known to have gone
	// altogether, or when the server was closed. Where the system does not tell, a
	// write shows the first.
	Gone() <-chan struct{}
}
