//go:build unix

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
)

// messages returns who may send each message by the table.
func messages(page accessPage) map[string]string {
	who := map[string]string{}
	for _, l := range page {
		if l.heading != "## Wire" {
			continue
		}
		for _, m := range regexp.MustCompile("`([A-Z]\\w+)`").FindAllStringSubmatch(l.cells[0], -1) {
			who[m[1]], _, _ = strings.Cut(l.cells[1], ";")
		}
	}
	return who
}

// TestAccess_TheTableHasEveryMessage: a message of rows that is added needs a line
// that says who may send it.
func TestAccess_TheTableHasEveryMessage(t *testing.T) {
	table, known := messages(readAccess(t)), []string(nil)
	files, err := filepath.Glob("../../client/wire/rows/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no code of the messages", err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok {
				for _, id := range v.Names {
					if m, ok := strings.CutPrefix(id.Name, "ID"); ok {
						known = append(known, m)
					}
				}
			}
			return true
		})
	}
	if len(known) < 10 {
		t.Fatalf("only these messages were found: %v", known)
	}
	for _, m := range known {
		if table[m] == "" {
			t.Errorf("docs/explanation/access.md does not say who may send %s", m)
		}
	}
	for m := range table {
		if !slices.Contains(known, m) {
			t.Errorf("docs/explanation/access.md speaks of %s, and there is no such message", m)
		}
	}
}

// A letter is a message to be sent: a request, or what opens a stream.
type letter struct {
	name   string
	id     uint64
	stream bool
	data   []byte
}

// letters returns every message about a document that is there.
func letters() []letter {
	write := func(name string, id uint64, key, body string) letter {
		return letter{name, id, false, (&rows.Write{Resource: "pay", Key: key, Body: []byte(body)}).Append(nil)}
	}
	return []letter{
		{"Get", rows.IDGet, false, (&rows.Get{Resource: "pay", Key: "1"}).Append(nil)},
		{"GetMulti", rows.IDGetMulti, false, (&rows.GetMulti{Resource: "pay", Keys: []string{"1"}}).Append(nil)},
		{"Query", rows.IDQuery, false, (&rows.Query{Resource: "pay"}).Append(nil)},
		{"Watch", rows.IDWatch, true, (&rows.Watch{Resource: "pay"}).Append(nil)},
		{"Info", rows.IDInfo, false, rows.AppendEmpty(nil)},
		write("Create", rows.IDCreate, "", `{"sal":3}`),
		write("Put", rows.IDPut, "1", `{"id":1,"sal":4}`),
		write("Patch", rows.IDPatch, "1", `{"sal":5}`),
		write("Delete", rows.IDDelete, "1", ""),
		{"EchoRequest", rows.IDEchoRequest, false, rows.AppendEcho(nil, []byte("x"))},
		{"EchoPost", rows.IDEchoPost, false, rows.AppendEcho(nil, []byte("x"))},
		{"EchoSend", rows.IDEchoSend, true, rows.AppendEcho(nil, []byte("x"))},
		{"EchoReceive", rows.IDEchoReceive, true, rows.AppendEcho(nil, []byte("x"))},
	}
}

// send sends a message and returns the first answer: its data, or the code of the
// error. A stream is given up again, which ends it for the server, too.
func (p *wirePeer) send(l letter) ([]byte, gofast.Code) {
	p.t.Helper()
	m := &gofast.Message{ID: l.id, Data: l.data}
	if l.id == rows.IDEchoPost { // it has no answer: the next message has one
		out, err := p.s.AppendPost(nil, m)
		if err != nil {
			p.t.Fatal(err)
		}
		p.write(out)
		return p.send(letter{id: rows.IDInfo, data: rows.AppendEmpty(nil)})
	}
	open := p.s.AppendRequest
	if l.stream {
		open = p.s.AppendStart
	}
	out, opaque, err := open(nil, m, nil)
	if err == nil && l.stream {
		out, err = p.s.AppendFinish(out, opaque)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(out)
	for {
		switch e := p.next(); {
		case e.Opaque != opaque:
		case e.Err != nil:
			return nil, e.Err.Code
		default:
			return slices.Clone(e.Data), gofast.OK
		}
	}
}

// walkWires sends every message as everybody.
func walkWires(t *testing.T, page accessPage) {
	w := roleWalk{section: "wire", settings: "perf: true", roles: func(
		t *testing.T, r *running, roles map[string]string, read, write []string,
	) {
		walkWire(t, page, r, roles, read, write)
	}}
	w.run(t, page)
}

// walkWire sends every message as everybody.
func walkWire(t *testing.T, page accessPage, r *running, roles map[string]string, read, write []string) {
	table := messages(page)
	page.ask(t, "## Wire", "whoami", "") // each connection begins with it
	for role, token := range roles {
		// Who may not write what nobody may is told that it cannot be written.
		none := len(read) == 0
		may := map[string]bool{"anybody": true, "`access.read` of the resource": slices.Contains(read, role),
			"`access.write`": slices.Contains(write, role)}
		known := token != "" && role != "wrong"
		for _, l := range letters() {
			page.ask(t, "## Wire", "`"+l.name+"`", "")
			data, got := r.dialWire(token).send(l)
			allowed, said := may[table[l.name]]
			want := gofast.OK
			switch {
			case !said:
				t.Fatalf("the table says of %s: %q", l.name, table[l.name])
			case !allowed && none && table[l.name] == "`access.write`":
				want = gofast.Unimplemented
			case !allowed && (known || none):
				want = gofast.PermissionDenied
			case !allowed:
				want = gofast.Unauthenticated
			case got == gofast.NotFound: // it was deleted by who might, or is made anew
				got = gofast.OK
			}
			if got != want {
				t.Errorf("%s as %q: %v, want %v", l.name, role, got, want)
			}
			named := strings.Contains(string(data), "pay")
			if l.name == "Info" && named != slices.Contains(read, role) {
				t.Errorf("Info as %q names the resource: %v", role, named)
			}
		}
	}
}
