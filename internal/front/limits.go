package front

import (
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
)

// The limits of a connection, whatever protocol it speaks. Each says its unit, which setting
// changes it, and which metric tells of it. What an operator can set has its default here.
const (
	// Connections is the connections of one listener, whatever it speaks; those of key-value
	// fronts have a setting besides, kv.max_clients. One more is refused in the listener's
	// protocol. Metric: eventloop.Stats.Refused, and the log.
	Connections = 65_536

	// ConnectionsOf is those of one address that is not this machine's: half, so that nobody
	// has all. A balancer has one address.
	ConnectionsOf = Connections / 2

	// Handshakes is the handshakes of TLS of one listener at a time. Others wait, for as long
	// as a handshake may take.
	Handshakes = 1024

	// AnswerBytes is the bytes of the documents of one answer to a key-value command:
	// those that are read from the database for it, and those that it keeps while its peer
	// takes it. An answer with more is refused by name. Its parts that are in memory are
	// made as the peer takes them, so that their number is no matter.
	AnswerBytes = 64 << 20

	// ListBytes is the bytes of one list, or of another answer that is made as a whole.
	ListBytes = 8 << 20

	// CommandKeys is the keys, or columns, of one command.
	CommandKeys = 10_000

	// QueuedCommands is the commands of one transaction (MULTI), and QueuedBytes is the
	// bytes of their arguments.
	QueuedCommands = 1000
	QueuedBytes    = 64 << 20

	// QueuedAll is the bytes of the transactions of all connections.
	QueuedAll = 256 << 20

	// Cursors is the cursors of SCAN, of all clients. When there are so many, the client with
	// the most loses its oldest.
	Cursors = 10_000

	// WrongTokens is the tokens that are not known before a connection ends.
	WrongTokens = 10

	// UnsentPeer is the bytes of answers that are made, or being made, for one connection,
	// and that it has not taken. An answer that is larger than this is made alone.
	// Metric: hotrow_unsent_bytes.
	UnsentPeer = 4 << 20

	// UnsentAll is UnsentPeer for the process.
	UnsentAll = 128 << 20

	// OutputBytes is the bytes that a peer has not taken before nothing more is read from it,
	// where answers from memory go on for as long as something is.
	OutputBytes = 1 << 20

	// ParkedKeys is the keys of the requests of one connection of the wire that wait: beyond
	// it nothing more is read from it.
	ParkedKeys = 64 << 10

	// UnsentWait is how long a request waits for room at most.
	// Metrics: hotrow_unsent_waiting, hotrow_unsent_refused_total.
	UnsentWait = 10 * time.Second
)

// Limited returns c with the limits of connections. refusal is what a peer is told that is one
// too many, in the protocol of the listener.
func Limited(c eventloop.Config, refusal string) eventloop.Config {
	c.MaxConns, c.MaxConnsOf, c.MaxHandshakes = Connections, ConnectionsOf, Handshakes
	c.Refusal = []byte(refusal)
	return c
}
