// Package memcache reads the commands of memcached clients and writes replies, in the
// text protocol and its meta commands. It does no I/O and knows no row.
package memcache

import (
	"encoding/base64"
	"errors"
)

// An Op is what a command does.
type Op uint8

// The commands that are known. Storage commands, which carry a value, are Set up to CAS
// and MetaSet.
const (
	Unknown Op = iota
	Get
	Gets
	Gat
	Gats
	Touch
	Set
	Add
	Replace
	Append
	Prepend
	CAS
	Incr
	Decr
	Delete
	FlushAll
	Stats
	Version
	Verbosity
	Quit
	Shutdown
	MemLimit
	Crawler // lru_crawler
	MetaGet
	MetaSet
	MetaDelete
	MetaArith
	MetaNoop
	MetaDebug
)

// names are the commands by name.
var names = map[string]Op{
	"get": Get, "gets": Gets, "gat": Gat, "gats": Gats, "touch": Touch, "set": Set, "add": Add,
	"replace": Replace, "append": Append, "prepend": Prepend, "cas": CAS, "incr": Incr,
	"decr": Decr, "delete": Delete, "flush_all": FlushAll, "stats": Stats, "version": Version,
	"verbosity": Verbosity, "quit": Quit, "shutdown": Shutdown, "cache_memlimit": MemLimit,
	"lru_crawler": Crawler, "mg": MetaGet, "ms": MetaSet, "md": MetaDelete, "ma": MetaArith,
	"mn": MetaNoop, "me": MetaDebug, "bget": Get,
}

// String returns the command's name.
func (o Op) String() string {
	for name, op := range names {
		if op == o && name != "bget" {
			return name
		}
	}
	return "unknown"
}

// Stores reports whether a value comes with the command.
func (o Op) Stores() bool { return Set <= o && o <= CAS || o == MetaSet }

// Meta reports whether it is a meta command with a key.
func (o Op) Meta() bool { return MetaGet <= o && o <= MetaArith }

const (
	maxKey    = 250
	maxTokens = 23   // beyond which memcached does not take a line apart
	maxOpaque = 32   // bytes of what a meta command gets back
	maxLine   = 2048 // of what is not get or gets
)

// Limits bound one command.
type Limits struct {
	Line  int // bytes of a get of many keys: the lines of other commands have 2048
	Value int // bytes of a value
}

// The errors of a peer that does not speak the protocol. Nothing more can be read.
var (
	ErrLine   = errors.New("the line has no end")
	ErrBinary = errors.New("the binary protocol")
	ErrHTTP   = errors.New("an HTTP request")
	ErrTLS    = errors.New("a TLS handshake, and the listener does not speak TLS")
)

// A Command is one command as it came. Its slices alias the input, or belong to the
// Command, until the next call of Next.
type Command struct {
	Op      Op
	Args    [][]byte // the words behind the name
	Keys    [][]byte // what is asked for
	Flags   uint32
	Exptime int64
	Unique  uint64 // of cas and C
	Delta   uint64 // of incr, decr and D
	Initial uint64 // J
	Vivify  int64  // N
	Recache int64  // R
	Mode    byte   // of M: a capital letter, or 0
	Data    []byte // the value
	Noreply bool   // or q

	// Fault is the reply to a command that is not well-formed; nothing else is to be done.
	// Swallow is how many bytes behind it belong to it all the same.
	Fault   string
	Swallow int

	sent    uint64 // the letters of the flags of a meta command
	scratch []byte // a key that came as base64
}

// Has reports whether a meta command has this flag.
func (c *Command) Has(flag byte) bool { return c.sent&bit(flag) != 0 }

// bit returns the bit of a letter, 0 for what is none.
func bit(flag byte) uint64 {
	if flag < 'A' || flag > 'z' {
		return 0
	}
	return 1 << (flag - 'A')
}

// Clone returns a copy of c with memory of its own.
func (c *Command) Clone() *Command {
	k, size := *c, len(c.Data)
	for _, a := range c.Args {
		size += len(a)
	}
	for _, key := range c.Keys {
		size += len(key)
	}
	room := make([]byte, 0, size)
	own := func(b []byte) []byte {
		at := len(room)
		room = append(room, b...)
		return room[at:len(room):len(room)]
	}
	k.Args, k.Keys, k.scratch = make([][]byte, len(c.Args)), make([][]byte, len(c.Keys)), nil
	for i, a := range c.Args {
		k.Args[i] = own(a)
	}
	for i, key := range c.Keys {
		k.Keys[i] = own(key)
	}
	k.Data = own(c.Data)
	return &k
}

// reset makes c empty and keeps its memory.
func (c *Command) reset() {
	*c = Command{Args: c.Args[:0], Keys: c.Keys[:0], scratch: c.scratch[:0]}
}

// key takes one key. It reports false, and sets the fault, for what is none.
func (c *Command) key(k []byte) bool {
	if len(k) > maxKey {
		c.Fault = BadLine
		return false
	}
	c.Keys = append(c.Keys, k)
	return true
}

// decodeKey makes of a key in base64 its bytes.
func (c *Command) decodeKey() bool {
	b, err := base64.StdEncoding.AppendDecode(c.scratch[:0], c.Keys[0])
	if err != nil || len(b) == 0 {
		c.Fault = "CLIENT_ERROR error decoding key"
		return false
	}
	c.scratch, c.Keys[0] = b, b
	return true
}
