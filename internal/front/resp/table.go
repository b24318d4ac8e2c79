package respfront

import (
	"context"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front/kv"
)

// A command is one that is served, or refused by a rule. What COMMAND says of it is what
// redis-server 7.0 does.
type command struct {
	name, upper     string // "get", "GET"; of a subcommand "client|id"
	arity           int    // of arguments with the name; negative: at least so many
	flags, acl      []string
	first, last, by int // which arguments are keys
	group, since    string
	summary         string
	subs            map[string]*command // nil: it has no subcommands

	noAuth     bool     // served before it is known who asks
	subscribed bool     // served in RESP2 while there are subscriptions
	always     bool     // not queued by MULTI
	queued     bool     // may be queued; reads may always
	hash       bool     // it is about the fields of a row
	batch      bool     // may stand between the reads of a batch
	writes     bool     // it changes rows
	refuse     string   // the error that is all it replies
	check      argCheck // nil: every argument is good

	// One of these answers it: render from documents; now at once; later in a goroutine.
	// parts is render for replies that may be longer than any document: see conn.render.
	render func(c *conn, out []byte, args [][]byte, found []kv.Found) []byte
	parts  func(c *conn, out []byte, args [][]byte, found []kv.Found, at int) ([]byte, int)
	now    func(t *turn, args [][]byte)
	later  func(ctx context.Context, c *conn, o *Options, args [][]byte) ([]byte, eventloop.Next)
}

// An argCheck returns the error of arguments that are not good, or "".
type argCheck func(args [][]byte) string

// reads reports whether the command is a read of rows by their keys.
func (cmd *command) reads() bool { return cmd.render != nil || cmd.parts != nil }

// keys returns the arguments that are keys. No command of the table has others between
// them.
func (cmd *command) keys(args [][]byte) [][]byte {
	if cmd.first == 0 {
		return nil
	}
	last := cmd.last
	if last < 0 {
		last += len(args)
	}
	return args[cmd.first : last+1]
}

// commandTable has a line for each command: its name, arity, flags, the places of its keys,
// the categories of Redis' access lists, its group, since when Redis has it, what it does.
const commandTable = `
get|2|readonly fast|1 1 1|read string fast|string|1.0.0|Returns the row of a key
getex|-2|write fast|1 1 1|write string fast|string|6.2.0|Returns the row of a key
mget|-2|readonly fast|1 -1 1|read string fast|string|1.0.0|Returns the rows of several keys
exists|-2|readonly fast|1 -1 1|keyspace read fast|generic|1.0.0|Counts keys that have a row
strlen|2|readonly fast|1 1 1|read string fast|string|2.2.0|Returns the length of a row
getrange|4|readonly|1 1 1|read string slow|string|2.4.0|Returns a part of a row's text
substr|4|readonly|1 1 1|read string slow|string|1.0.0|Returns a part of a row's text
type|2|readonly fast|1 1 1|keyspace read fast|generic|1.0.0|Returns string, or none
object|-2||0 0 0|slow|generic|2.2.3|Tells how a value is kept
ttl|2|readonly fast|1 1 1|keyspace read fast|generic|1.0.0|For how long a copy is good, in s
pttl|2|readonly fast|1 1 1|keyspace read fast|generic|2.6.0|For how long a copy is good, in ms
expiretime|2|readonly fast|1 1 1|keyspace read fast|generic|7.0.0|Until when a copy is good
pexpiretime|2|readonly fast|1 1 1|keyspace read fast|generic|7.0.0|Until when a copy is good
expire|-3|write fast|1 1 1|keyspace write fast|generic|1.0.0|Does nothing: rows do not expire
pexpire|-3|write fast|1 1 1|keyspace write fast|generic|2.6.0|Does nothing: rows do not expire
expireat|-3|write fast|1 1 1|keyspace write fast|generic|1.2.0|Does nothing: rows do not expire
pexpireat|-3|write fast|1 1 1|keyspace write fast|generic|2.6.0|Does nothing: rows do not expire
persist|2|write fast|1 1 1|keyspace write fast|generic|2.2.0|Does nothing: rows do not expire
touch|-2|readonly fast|1 -1 1|keyspace read fast|generic|3.2.1|Counts keys that have a row
hgetall|2|readonly|1 1 1|read hash slow|hash|2.0.0|Returns the columns of a row
hget|3|readonly fast|1 1 1|read hash fast|hash|2.0.0|Returns a column of a row
hmget|-3|readonly fast|1 1 1|read hash fast|hash|2.0.0|Returns columns of a row
hexists|3|readonly fast|1 1 1|read hash fast|hash|2.0.0|Whether a column has a value
hlen|2|readonly fast|1 1 1|read hash fast|hash|2.0.0|Counts the columns that have a value
hkeys|2|readonly|1 1 1|read hash slow|hash|2.0.0|Returns the names of columns
hvals|2|readonly|1 1 1|read hash slow|hash|2.0.0|Returns the values of columns
hstrlen|3|readonly fast|1 1 1|read hash fast|hash|3.2.0|Returns the length of a column
hscan|-3|readonly|1 1 1|read hash slow|hash|2.8.0|Returns the columns of a row
set|-3|write denyoom|1 1 1|write string slow|string|1.0.0|Puts a row
setex|4|write denyoom|1 1 1|write string slow|string|2.0.0|Puts a row
psetex|4|write denyoom|1 1 1|write string slow|string|2.6.0|Puts a row
hset|-4|write denyoom fast|1 1 1|write hash fast|hash|2.0.0|Changes columns of a row
hdel|-3|write fast|1 1 1|write hash fast|hash|2.0.0|Empties columns of a row
del|-2|write|1 -1 1|keyspace write slow|generic|1.0.0|Deletes rows
unlink|-2|write fast|1 -1 1|keyspace write fast|generic|4.0.0|Deletes rows
scan|-2|readonly|0 0 0|keyspace read slow|generic|2.8.0|Walks over the keys of the database
dbsize|1|readonly fast|0 0 0|keyspace read fast|server|1.0.0|Counts the documents in memory
multi|1|noscript loading stale fast allow_busy|0 0 0|fast transaction|transactions|1.2.0|Queues
exec|1|noscript loading stale skip_slowlog|0 0 0|slow transaction|transactions|1.2.0|Does what waits
discard|1|noscript loading stale fast allow_busy|0 0 0|fast transaction|transactions|2.0.0|Forgets
watch|-2|noscript loading stale fast allow_busy|1 -1 1|fast transaction|transactions|2.2.0|Not
unwatch|1|noscript loading stale fast allow_busy|0 0 0|fast transaction|transactions|2.2.0|Says OK
ping|-1|fast|0 0 0|fast connection|connection|1.0.0|Says PONG
echo|2|loading stale fast|0 0 0|fast connection|connection|1.0.0|Says what it is told
quit|-1|noscript loading stale fast no_auth allow_busy|0 0 0|fast connection|connection|1.0.0|Ends
reset|1|noscript loading stale fast no_auth allow_busy|0 0 0|fast connection|connection|6.2.0|Anew
select|2|loading stale fast|0 0 0|fast connection|connection|1.0.0|Rows are the same
time|1|loading stale fast|0 0 0|fast|server|2.6.0|Returns the time
hello|-1|noscript loading stale fast no_auth allow_busy|0 0 0|fast connection|connection|6.0.0|Hello
auth|-2|noscript loading stale fast no_auth allow_busy|0 0 0|fast connection|connection|1.0.0|Token
client|-2||0 0 0|slow|connection|2.4.0|Tells of connections, and changes this one
command|-1|loading stale|0 0 0|slow connection|server|2.8.13|Tells of the commands
config|-2||0 0 0|slow|server|2.0.0|Tells a few settings
info|-1|loading stale|0 0 0|slow dangerous|server|1.0.0|Tells of the server
cluster|-2||0 0 0|slow|cluster|3.0.0|Not served
readonly|1|loading stale fast|0 0 0|fast connection|cluster|3.0.0|Not served
readwrite|1|loading stale fast|0 0 0|fast connection|cluster|3.0.0|Not served
asking|1|fast|0 0 0|fast connection|cluster|3.0.0|Not served
role|1|noscript loading stale fast|0 0 0|admin fast dangerous|server|2.8.12|Says master
wait|3|noscript|0 0 0|slow connection|generic|3.0.0|Says that there is no replica
lastsave|1|loading stale fast|0 0 0|admin fast dangerous|server|1.0.0|Says when the server started
latency|-2||0 0 0|slow|server|2.8.13|Says nothing
slowlog|-2||0 0 0|slow|server|2.2.12|Says nothing
memory|-2||0 0 0|slow|server|4.0.0|Tells how large a row is
module|-2||0 0 0|slow|server|4.0.0|Says that there are none
randomkey|1|readonly|0 0 0|keyspace read slow|generic|1.0.0|Returns a key of the database
acl|-2||0 0 0|slow|server|6.0.0|Tells whose token the connection has sent
subscribe|-2|pubsub noscript loading stale|0 0 0|pubsub slow|pubsub|2.0.0|Hears channels
psubscribe|-2|pubsub noscript loading stale|0 0 0|pubsub slow|pubsub|2.0.0|Hears channels
unsubscribe|-1|pubsub noscript loading stale|0 0 0|pubsub slow|pubsub|2.0.0|Hears them no more
punsubscribe|-1|pubsub noscript loading stale|0 0 0|pubsub slow|pubsub|2.0.0|Hears them no more
pubsub|-2||0 0 0|slow|pubsub|2.8.0|Tells who hears what
publish|3|pubsub loading stale fast|0 0 0|pubsub fast|pubsub|2.0.0|Not allowed
flushdb|-1|write|0 0 0|keyspace write slow dangerous|server|1.0.0|Not allowed
flushall|-1|write|0 0 0|keyspace write slow dangerous|server|1.0.0|Not allowed
hotrow.get|-2|readonly|1 1 1|read string slow|string|1.0.0|Returns the row of a key, and where from
hotrow.position|-1|readonly|0 0 0|read slow|server|1.0.0|Returns the position of writes or answers
hotrow.format|2|fast|0 0 0|fast connection|connection|1.0.0|Says in which format documents are
hotrow.min|-2|fast|0 0 0|fast connection|connection|1.0.0|Says what answers must include
`

// subTable has a line for each subcommand: its name, arity and the places of its keys.
const subTable = `
object|encoding|3|2 2 1
object|freq|3|2 2 1
object|idletime|3|2 2 1
object|refcount|3|2 2 1
client|id|2|0 0 0
client|info|2|0 0 0
client|list|-2|0 0 0
client|getname|2|0 0 0
client|setname|3|0 0 0
client|setinfo|4|0 0 0
client|no-evict|3|0 0 0
client|no-touch|3|0 0 0
client|reply|3|0 0 0
client|kill|-3|0 0 0
client|unblock|-3|0 0 0
client|tracking|-3|0 0 0
client|caching|3|0 0 0
client|getredir|2|0 0 0
client|trackinginfo|2|0 0 0
pubsub|channels|-2|0 0 0
pubsub|numsub|-2|0 0 0
pubsub|numpat|2|0 0 0
command|count|2|0 0 0
command|list|-2|0 0 0
command|info|-2|0 0 0
command|docs|-2|0 0 0
command|getkeys|-4|0 0 0
config|get|-3|0 0 0
config|set|-4|0 0 0
config|resetstat|2|0 0 0
latency|latest|2|0 0 0
latency|history|3|0 0 0
slowlog|get|-2|0 0 0
slowlog|len|2|0 0 0
module|list|2|0 0 0
memory|usage|-3|2 2 1
memory|stats|2|0 0 0
acl|whoami|2|0 0 0
`

// A table has what is served, by the name in lower case; subcommands are in subs.
type table map[string]*command

// longestName is how long the name of a command or a subcommand is at most.
const longestName = 32

// newTable returns all commands.
func newTable() table {
	all := make(table)
	for line := range strings.SplitSeq(strings.TrimSpace(commandTable), "\n") {
		f := strings.Split(line, "|")
		cmd := &command{name: f[0], upper: strings.ToUpper(f[0]), arity: number(f[1]),
			flags: strings.Fields(f[2]), acl: strings.Fields(f[4]), group: f[5], since: f[6],
			summary: f[7]}
		cmd.place(f[3])
		all[cmd.name] = cmd
	}
	for line := range strings.SplitSeq(strings.TrimSpace(subTable), "\n") {
		f := strings.Split(line, "|")
		of := all[f[0]]
		if of.subs == nil {
			of.subs = make(map[string]*command)
		}
		sub := &command{name: f[0] + "|" + f[1], upper: strings.ToUpper(f[0] + " " + f[1]),
			arity: number(f[2]), flags: of.flags, acl: of.acl, group: of.group, since: of.since,
			summary: of.summary}
		sub.place(f[3])
		of.subs[f[1]] = sub
	}
	all.serveReads()
	all.serveWrites()
	all.serveSession()
	all.serveClient()
	all.serveCommand()
	all.serveInfo()
	all.serveScan()
	all.servePubSub()
	all.serveOwn()
	return all
}

// place reads which arguments are keys.
func (cmd *command) place(text string) {
	f := strings.Fields(text)
	cmd.first, cmd.last, cmd.by = number(f[0]), number(f[1]), number(f[2])
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic("BUG: the table of commands has " + text + " for a number")
	}
	return n
}

// find returns the command that arguments begin with, nil if there is none.
func (all table) find(args [][]byte) *command {
	cmd := named(all, args[0])
	if cmd == nil || cmd.subs == nil {
		return cmd
	}
	if len(args) > 1 {
		return named(cmd.subs, args[1])
	}
	if cmd.arity == -1 {
		return cmd
	}
	return nil
}

// named looks a name up in any case, without allocating.
func named(in map[string]*command, name []byte) *command {
	var low [longestName]byte
	if len(name) > len(low) {
		return nil
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		low[i] = c
	}
	return in[string(low[:len(name)])]
}
