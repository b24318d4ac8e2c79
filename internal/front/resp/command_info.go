package respfront

import (
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// serveCommand says how its commands are answered.
func (all table) serveCommand() {
	all["command"].now = commandAll
	for name, f := range map[string]func(*turn, [][]byte){
		"count": commandCount, "list": commandList, "info": commandInfo, "docs": commandDocs,
		"getkeys": commandGetKeys,
	} {
		all["command"].subs[name].now = f
	}
}

func commandCount(t *turn, _ [][]byte) { t.out = resp.AppendInt(t.out, int64(len(t.c.f.names))) }

func commandAll(t *turn, _ [][]byte) {
	t.out = resp.AppendArray(t.out, len(t.c.f.names))
	for _, name := range t.c.f.names {
		t.out = t.c.f.commands[name].describe(t.out, t.c.v)
	}
}

// describe appends what COMMAND INFO says of a command.
func (cmd *command) describe(out []byte, v resp.Version) []byte {
	words := func(list []string, prefix string) {
		out = v.AppendSet(out, len(list))
		for _, w := range list {
			out = resp.AppendSimple(out, prefix+w)
		}
	}
	out = resp.AppendText(resp.AppendArray(out, 10), cmd.name)
	out = resp.AppendInt(out, int64(cmd.arity))
	words(cmd.flags, "")
	for _, n := range []int{cmd.first, cmd.last, cmd.by} {
		out = resp.AppendInt(out, int64(n))
	}
	words(cmd.acl, "@")
	out = v.AppendSet(out, 0)      // tips
	out = resp.AppendArray(out, 0) // key specifications
	subs := sorted(cmd.subs)
	out = resp.AppendArray(out, len(subs))
	for _, s := range subs {
		out = s.describe(out, v)
	}
	return out
}

// sorted returns subcommands by their names.
func sorted(subs map[string]*command) []*command {
	var list []*command
	for _, s := range subs {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *command) int { return strings.Compare(a.name, b.name) })
	return list
}

func commandInfo(t *turn, args [][]byte) {
	if len(args) == 2 {
		commandAll(t, args)
		return
	}
	t.out = resp.AppendArray(t.out, len(args)-2)
	for _, name := range args[2:] {
		if cmd := t.c.f.commands.byFullName(name); cmd != nil {
			t.out = cmd.describe(t.out, t.c.v)
		} else {
			t.out = t.c.v.AppendNil(t.out)
		}
	}
}

// byFullName returns the command "get" or "client|id".
func (all table) byFullName(name []byte) *command {
	of, sub, isSub := strings.Cut(lower(name), "|")
	cmd := all[of]
	if cmd != nil && isSub {
		return cmd.subs[sub]
	}
	return cmd
}

func commandDocs(t *turn, args [][]byte) {
	names := t.c.f.names
	if len(args) > 2 {
		names = nil
		for _, name := range args[2:] {
			if cmd := t.c.f.commands.byFullName(name); cmd != nil {
				names = append(names, cmd.name)
			}
		}
	}
	t.out = t.c.v.AppendMap(t.out, len(names))
	for _, name := range names {
		cmd := t.c.f.commands.byFullName([]byte(name))
		t.out = t.c.v.AppendMap(resp.AppendText(t.out, name), 3)
		for _, pair := range [][2]string{
			{"summary", cmd.summary}, {"since", cmd.since}, {"group", cmd.group},
		} {
			t.out = resp.AppendText(resp.AppendText(t.out, pair[0]), pair[1])
		}
	}
}

func commandList(t *turn, args [][]byte) {
	names := t.c.f.names
	switch {
	case len(args) == 2:
	case len(args) == 5 && lower(args[2]) == "filterby" && lower(args[3]) == "pattern":
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return !kv.Match(strings.ToLower(string(args[4])), name)
		})
	default:
		t.fail(syntaxError)
		return
	}
	t.out = resp.AppendArray(t.out, len(names))
	for _, name := range names {
		t.out = resp.AppendText(t.out, name)
	}
}

func commandGetKeys(t *turn, args [][]byte) {
	of := args[2:]
	cmd := t.c.f.commands.find(of)
	switch {
	case cmd == nil:
		t.fail("ERR Invalid command specified")
		return
	case cmd.first == 0:
		t.fail("ERR The command has no key arguments")
		return
	case cmd.arity > 0 && len(of) != cmd.arity || len(of) < -cmd.arity:
		t.fail("ERR Invalid number of arguments specified for command")
		return
	}
	keys := cmd.keys(of)
	t.out = resp.AppendArray(t.out, len(keys))
	for _, key := range keys {
		t.out = resp.AppendBulk(t.out, key)
	}
}
