package respfront

import (
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// serveReads says how its commands are answered.
func (all table) serveReads() {
	type render = func(c *conn, out []byte, args [][]byte, found []kv.Found) []byte
	for name, f := range map[string]render{
		"get": renderGet, "getex": renderGet,
		"exists": renderExists, "touch": renderExists, "strlen": renderStrlen,
		"getrange": renderRange, "substr": renderRange, "type": renderType,
		"ttl": renderTTL, "pttl": renderTTL, "expiretime": renderTTL, "pexpiretime": renderTTL,
		"hgetall": renderHGetAll, "hget": renderHGet,
		"hexists": renderHExists, "hlen": renderHLen, "hkeys": renderHKeys, "hvals": renderHVals,
		"hstrlen": renderHStrlen, "hscan": renderHScan,
	} {
		all[name].render, all[name].hash = f, all[name].group == "hash"
	}
	all["mget"].parts, all["hmget"].parts, all["hmget"].hash = mgetParts, hmgetParts, true
	object := all["object"].subs
	object["encoding"].render = renderEncoding
	object["refcount"].render, object["idletime"].render = renderObject(1), renderObject(0)
	object["freq"].render = func(c *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
		if found[0].Doc == nil {
			return c.v.AppendNil(out)
		}
		return resp.AppendError(out, noFrequency)
	}
	all["memory"].subs["usage"].render = renderUsage
	all["getex"].check = func(args [][]byte) string {
		if len(args) > 2 {
			return noExpiry
		}
		return ""
	}
	all["mget"].check = checkKeys
	all["hmget"].check = func(args [][]byte) string { return checkKeys(args[1:]) }
	all["exists"].check, all["touch"].check = checkKeys, checkKeys
	all["getrange"].check, all["substr"].check = checkRange, checkRange
	all["hscan"].check = checkHScan
}

// noFrequency is what Redis says where it does not count reads.
const noFrequency = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. " +
	"Please note that when switching between policies at runtime LRU and LFU data will take " +
	"some time to adjust."

// renderObject says a number of every row that is there.
func renderObject(n int64) func(*conn, []byte, [][]byte, []kv.Found) []byte {
	return func(c *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
		if found[0].Doc == nil {
			return c.v.AppendNil(out)
		}
		return resp.AppendInt(out, n)
	}
}

func checkKeys(args [][]byte) string {
	if len(args)-1 > front.CommandKeys {
		return "ERR too many keys"
	}
	return ""
}

const notInteger = "ERR value is not an integer or out of range"

func checkRange(args [][]byte) string {
	for _, a := range args[2:] {
		if _, ok := resp.ParseInt(a); !ok {
			return notInteger
		}
	}
	return ""
}

// whole says that a reply has been made to its end.
const whole = -1

// render appends the reply of a read whose keys have been looked up, from one of its parts
// on, and returns at which it goes on: see kv.Read. An error of one key is that of the
// command.
func (c *conn) render(
	out []byte, cmd *command, args [][]byte, found []kv.Found, at int,
) (grown []byte, next int) {
	for i := 0; at == 0 && i < len(found); i++ {
		f := &found[i]
		switch {
		case f.Err != nil:
			return resp.AppendError(out, c.f.errorOf(cmd, f)), whole
		case f.List && f.Doc != nil && cmd.hash:
			return resp.AppendError(out, wrongType), whole
		}
	}
	if cmd.parts != nil {
		return cmd.parts(c, out, args, found, at)
	}
	return cmd.render(c, out, args, found), whole
}

func renderGet(c *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	return appendValue(c, out, &found[0])
}

func mgetParts(c *conn, out []byte, _ [][]byte, found []kv.Found, at int) ([]byte, int) {
	if at == 0 {
		out = resp.AppendArray(out, len(found))
	}
	for i := at; i < len(found); i++ {
		if i > at && len(out) >= kv.PieceSize {
			return out, i
		}
		out = appendValue(c, out, &found[i])
	}
	return out, whole
}

func renderExists(_ *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	n := int64(0)
	for i := range found {
		if found[i].Doc != nil {
			n++
		}
	}
	return resp.AppendInt(out, n)
}

func renderStrlen(_ *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	return resp.AppendInt(out, int64(kv.BytesOf(found)))
}

// renderRange is as Redis has it: negative places count from the end.
func renderRange(_ *conn, out []byte, args [][]byte, found []kv.Found) []byte {
	var text []byte
	if f := &found[0]; f.Doc != nil {
		text = f.Value()
	}
	start, _ := resp.ParseInt(args[2])
	end, _ := resp.ParseInt(args[3])
	size := int64(len(text))
	if start < 0 && end < 0 && start > end {
		return resp.AppendText(out, "")
	}
	if start < 0 {
		start = max(size+start, 0)
	}
	if end < 0 {
		end = max(size+end, 0)
	}
	end = min(end, size-1)
	if start > end || size == 0 {
		return resp.AppendText(out, "")
	}
	return resp.AppendBulk(out, text[start:end+1])
}

func renderType(_ *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	if found[0].Doc == nil {
		return resp.AppendSimple(out, "none")
	}
	return resp.AppendSimple(out, "string")
}

func renderEncoding(c *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	if found[0].Doc == nil {
		return c.v.AppendNil(out)
	}
	return resp.AppendText(out, "raw")
}

func renderUsage(c *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	d := found[0].Doc
	if d == nil {
		return c.v.AppendNil(out)
	}
	return resp.AppendInt(out, int64(d.Size()))
}

// renderTTL says for how long a client may keep the answer without asking again: -1 is for
// as long as it hears of no change, -2 that there is no row.
func renderTTL(_ *conn, out []byte, args [][]byte, found []kv.Found) []byte {
	f := &found[0]
	switch {
	case f.Doc == nil:
		return resp.AppendInt(out, -2)
	case !f.Uncacheable:
		return resp.AppendInt(out, -1)
	}
	left := f.Res.Left(f.Doc)
	inMillis := args[0][0]|0x20 == 'p'
	if left == 0 && inMillis {
		left = f.Res.StaleAfter()
	}
	n := left.Milliseconds()
	if name := lower(args[0]); name == "expiretime" || name == "pexpiretime" {
		n = time.Now().Add(left).UnixMilli()
	}
	if !inMillis {
		n /= 1000
	}
	return resp.AppendInt(out, n)
}

// fieldsOf returns the columns of a row, which alias the document, or scratch of c.
func (c *conn) fieldsOf(f *kv.Found) []kv.Field {
	c.fields = f.Fields(c.fields[:0])
	return c.fields
}

func renderHGetAll(c *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	list := c.fieldsOf(&found[0])
	out = c.v.AppendMap(out, len(list))
	for i := range list {
		out = resp.AppendBulk(resp.AppendBulk(out, list[i].Name), list[i].Value)
	}
	return out
}

// fieldOf returns the value of a column, nil if it has none.
func fieldOf(list []kv.Field, name []byte) []byte {
	for i := range list {
		if string(list[i].Name) == string(name) {
			return list[i].Value
		}
	}
	return nil
}

func appendField(c *conn, out []byte, value []byte) []byte {
	if value == nil {
		return c.v.AppendNil(out)
	}
	return resp.AppendBulk(out, value)
}

func renderHGet(c *conn, out []byte, args [][]byte, found []kv.Found) []byte {
	return appendField(c, out, fieldOf(c.fieldsOf(&found[0]), args[2]))
}

func hmgetParts(c *conn, out []byte, args [][]byte, found []kv.Found, at int) ([]byte, int) {
	list, names := c.fieldsOf(&found[0]), args[2:]
	if at == 0 {
		out = resp.AppendArray(out, len(names))
	}
	for i := at; i < len(names); i++ {
		if i > at && len(out) >= kv.PieceSize {
			return out, i
		}
		out = appendField(c, out, fieldOf(list, names[i]))
	}
	return out, whole
}

func renderHExists(c *conn, out []byte, args [][]byte, found []kv.Found) []byte {
	if fieldOf(c.fieldsOf(&found[0]), args[2]) == nil {
		return resp.AppendInt(out, 0)
	}
	return resp.AppendInt(out, 1)
}

func renderHLen(c *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	return resp.AppendInt(out, int64(len(c.fieldsOf(&found[0]))))
}

func renderHKeys(c *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	list := c.fieldsOf(&found[0])
	out = resp.AppendArray(out, len(list))
	for i := range list {
		out = resp.AppendBulk(out, list[i].Name)
	}
	return out
}

func renderHVals(c *conn, out []byte, _ [][]byte, found []kv.Found) []byte {
	list := c.fieldsOf(&found[0])
	out = resp.AppendArray(out, len(list))
	for i := range list {
		out = resp.AppendBulk(out, list[i].Value)
	}
	return out
}

func renderHStrlen(c *conn, out []byte, args [][]byte, found []kv.Found) []byte {
	return resp.AppendInt(out, int64(len(fieldOf(c.fieldsOf(&found[0]), args[2]))))
}

// hscanOptions reads MATCH and COUNT, of which the latter says nothing here.
func hscanOptions(args [][]byte) (match string, problem string) {
	if _, err := strconv.ParseUint(string(args[2]), 10, 64); err != nil {
		return "", "ERR invalid cursor"
	}
	for rest := args[3:]; len(rest) > 0; rest = rest[2:] {
		switch name := lower(rest[0]); {
		case len(rest) < 2:
			return "", syntaxError
		case name == "match":
			match = string(rest[1])
		case name == "count":
			n, ok := resp.ParseInt(rest[1])
			if !ok {
				return "", notInteger
			}
			if n < 1 {
				return "", syntaxError
			}
		default:
			return "", syntaxError
		}
	}
	return match, ""
}

// checkHScan looks at the cursor alone: Redis reads the options of rows that are there.
func checkHScan(args [][]byte) string {
	_, problem := hscanOptions(args[:3])
	return problem
}

func renderHScan(c *conn, out []byte, args [][]byte, found []kv.Found) []byte {
	match, problem := hscanOptions(args)
	if problem != "" && found[0].Doc != nil {
		return resp.AppendError(out, problem)
	}
	list := c.fieldsOf(&found[0])
	if match != "" {
		kept := list[:0]
		for _, f := range list {
			if kv.Match(match, string(f.Name)) {
				kept = append(kept, f)
			}
		}
		list = kept
	}
	out = resp.AppendText(resp.AppendArray(out, 2), "0")
	out = resp.AppendArray(out, 2*len(list))
	for i := range list {
		out = resp.AppendBulk(resp.AppendBulk(out, list[i].Name), list[i].Value)
	}
	return out
}
