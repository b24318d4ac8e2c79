package sqlread

import (
	"slices"
	"strings"
)

// This file says what a statement can do that memory does not answer. As the rest of the package it
// is a list of what is known: whatever is not on it may do anything.

// A Doing is what a statement does.
type Doing uint8

// What statements do.
const (
	Anything    Doing = iota // nobody knows
	Reads                    // rows, by functions of the server's own
	Writes                   // rows of Effect.Table, besides that
	Nothing                  // to rows, nor to the session
	Sets                     // something of the session, and no row
	Names                    // the same, and which statements are prepared
	Begins                   // a transaction
	Commits                  // a transaction
	Undoes                   // a transaction, or a part of it
	DeclaresAny              // a cursor, whose query does anything
	Fetches                  // rows of a cursor
)

// An Effect is what one statement does.
type Effect struct {
	Doing         Doing
	Unread        bool // it may prepare statements, too: the text could not be read
	Schema, Table Name // of Writes
	Prepared      Name // of Names: the one statement that may be another; empty: all

	// Adds says that a write adds rows and changes none.
	Adds bool

	// Rows is a SELECT that finds the rows which a write changes or removes, and Sets are the
	// columns that it sets; "": nobody knows which rows.
	Rows string
	Sets []Name

	// Names are those that stand in the statement, as the database stores them. If one is that of
	// a function, type or view of users, the statement may do anything.
	Names []string
}

// maxEffects is how many statements of one text are looked at.
const maxEffects = 64

// Effects returns what the statements of a text do, in their order.
func Effects(text string) []Effect {
	var list []Effect
	r := reader{s: new(Statement), text: text, lenient: true}
	if len(text) > maxText || !r.next() {
		return unread(text)
	}
	for {
		for r.isMark(";") {
			if !r.next() {
				return unread(text)
			}
		}
		if r.tok.kind == end {
			return list
		}
		e := effect{reader: &r}
		if len(list) == maxEffects || !e.statement() {
			return unread(text)
		}
		list = append(list, e.Effect)
	}
}

// unread returns the effect of a text that cannot be read. To prepare a statement, or to end one,
// it needs a word for that.
func unread(text string) []Effect {
	text = strings.ToLower(text)
	words := []string{"prepare", "deallocate", "discard"}
	return []Effect{{Unread: slices.ContainsFunc(words,
		func(word string) bool { return strings.Contains(text, word) })}}
}

// An effect is one in the making.
type effect struct {
	*reader
	Effect
	before string // the word in front of the token; "": it is none
	seen   map[string]bool
	rows   changed
}

// statement reads a statement up to what separates it from the next.
func (e *effect) statement() bool {
	first := e.wordText()
	switch first {
	case "select", "values", "table", "with":
		e.Doing = Reads
	case "insert", "update", "delete":
		e.Doing = Writes
		e.rows.first = first
		if !e.target(first) {
			return false
		}
	case "show", "listen", "unlisten", "notify":
		return e.skipTo(Nothing)
	case "set", "reset":
		return e.skipTo(Sets)
	case "deallocate", "discard", "prepare":
		return e.prepares(first)
	case "begin", "start":
		return e.skipTo(Begins)
	case "commit", "end":
		return e.ends(Commits)
	case "rollback", "abort":
		return e.ends(Undoes)
	case "savepoint", "release":
		return e.skipTo(Nothing)
	case "fetch", "move":
		return e.skipTo(Fetches)
	case "close":
		return e.skipTo(Nothing)
	case "declare":
		return e.declare()
	default:
		return e.skipTo(Anything)
	}
	return e.rest()
}

// wordText returns the token's word in lower case; "" if it is none.
func (e *effect) wordText() string {
	if e.tok.kind != word {
		return ""
	}
	return Name{text: e.tok.text}.String()
}

// skipTo passes over the rest of a statement that does what is said.
func (e *effect) skipTo(what Doing) bool {
	e.Doing = what
	for e.tok.kind != end && !e.isMark(";") {
		if !e.next() {
			return false
		}
	}
	return true
}

// prepares reads what changes the names of statements. PREPARE TRANSACTION is none of it.
func (e *effect) prepares(first string) bool {
	if !e.next() {
		return false
	}
	if first == "deallocate" && e.wordText() == "prepare" && !e.next() {
		return false
	}
	switch word := e.wordText(); {
	case first == "prepare" && word == "transaction":
		return e.skipTo(Anything)
	case first != "discard" && word != "all":
		if name, ok := e.plainName(); ok {
			e.Prepared = name
		}
	}
	return e.skipTo(Names)
}

// ends reads the end of a transaction, which is not one that was prepared.
func (e *effect) ends(what Doing) bool {
	for e.tok.kind != end && !e.isMark(";") {
		if !e.next() {
			return false
		}
		if e.wordText() == "prepared" {
			what = Anything
		}
	}
	e.Doing = what
	return true
}

// declare reads a cursor with its query.
func (e *effect) declare() bool {
	for e.wordText() != "for" {
		if e.tok.kind == end || e.isMark(";") {
			return e.skipTo(Anything)
		}
		if !e.next() {
			return false
		}
	}
	if !e.next() {
		return false
	}
	if first := e.wordText(); first != "select" && first != "values" && first != "with" {
		return e.skipTo(DeclaresAny)
	}
	e.Doing = Reads
	if !e.rest() {
		return false
	}
	if e.Doing == Anything {
		e.Doing = DeclaresAny
	}
	return true
}

// target reads the table of a write.
func (e *effect) target(first string) bool {
	if !e.next() {
		return false
	}
	if first == "insert" && e.wordText() == "into" || first == "delete" && e.wordText() == "from" {
		if !e.next() {
			return false
		}
	}
	if e.wordText() == "only" {
		if e.rows.vague = true; !e.next() {
			return false
		}
	}
	e.rows.from = e.at - len(e.tok.text)
	if e.tok.kind == quoted {
		e.rows.from -= 2
	}
	name, ok := e.plainName()
	if !ok {
		return e.skipTo(Anything)
	}
	if e.Table = name; e.isMark(".") {
		if !e.next() {
			return false
		}
		if name, ok = e.plainName(); !ok {
			return e.skipTo(Anything)
		}
		e.Schema, e.Table = e.Table, name
	}
	if e.isMark("(") { // the columns of an INSERT
		e.before = "into"
	}
	return true
}

// plainName takes a name, which ends with what may follow a table's.
func (e *effect) plainName() (n Name, ok bool) {
	if e.tok.kind != quoted && (e.tok.kind != word || e.tok.word.class == kept) {
		return n, false
	}
	n = Name{e.tok.text, e.tok.kind == quoted}
	e.rows.end = e.at
	return n, e.next()
}

// rest reads the rest of a statement that reads or writes, and finds what speaks against that.
func (e *effect) rest() bool {
	if e.Doing == Anything {
		return true
	}
	called := e.before == "into" // a bracket follows what is no function
	for e.tok.kind != end && !e.isMark(";") {
		if e.Doing == Writes {
			e.rows.see(e)
		}
		text, name := e.wordText(), false
		switch e.tok.kind {
		case quoted:
			text, name = e.tok.text, true
			e.note(text)
		case word:
			name = e.tok.word.class != kept || harmless[text] == ""
			if !e.mayStand(text) {
				return e.skipTo(Anything)
			}
			if name {
				e.note(text)
			}
		case mark:
			if e.isMark("(") && !called {
				return e.skipTo(Anything)
			}
		}
		called = !name && e.tok.kind != quoted || harmless[text] != ""
		e.before = text
		e.rows.end = e.at
		if !e.next() {
			return false
		}
	}
	if e.Doing == Writes {
		e.rows.tell(e)
	}
	return true
}

// mayStand reports whether a word may stand in a statement that only reads, or writes one table.
func (e *effect) mayStand(text string) bool {
	switch text {
	case "insert", "delete", "merge", "into", "truncate", "execute":
		return false
	case "update": // FOR UPDATE, FOR NO KEY UPDATE, ON CONFLICT DO UPDATE
		return e.before == "for" || e.before == "key" || e.before == "do"
	}
	return true
}

// note remembers a name.
func (e *effect) note(name string) {
	if e.seen[name] {
		return
	}
	if e.seen == nil {
		e.seen = make(map[string]bool)
	}
	e.seen[name] = true
	e.Names = append(e.Names, name)
}
