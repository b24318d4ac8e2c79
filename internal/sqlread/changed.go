package sqlread

// A changed finds out which rows a write changes, by its words outside of brackets.
type changed struct {
	first string // the statement's first word
	vague bool   // nobody knows
	depth int    // of brackets
	part  string // the word that began the part of the statement; "": the table's
	comma bool   // the token begins another assignment

	from  int    // where the table begins
	table string // with its alias
	where int    // where the condition begins; 0: there is none
	until int    // where it ends; 0: with the statement
	end   int    // of the token before
}

// see sees the next token.
func (c *changed) see(e *effect) {
	begins := c.comma
	c.comma = false
	switch {
	case e.isMark("("):
		c.depth++
		c.vague = c.vague || begins
		return
	case e.isMark(")"):
		c.depth--
		return
	case c.depth > 0:
		return
	case begins && (e.tok.kind == word || e.tok.kind == quoted):
		e.Sets = append(e.Sets, Name{e.tok.text, e.tok.kind == quoted})
		return
	case e.isMark(","):
		c.comma = c.part == "set"
		return
	}
	switch text := e.wordText(); text {
	case "set":
		if c.part == "" {
			c.part, c.comma, c.table = text, true, e.text[c.from:c.end]
		}
	case "where":
		if c.part == "" {
			c.table = e.text[c.from:c.end]
		}
		c.part, c.where = text, e.at
	case "returning":
		if c.part == "where" && c.until == 0 {
			c.until = c.end
		}
		c.part = text
	case "from", "using":
		c.vague = c.vague || c.first != "insert"
	case "conflict":
		c.vague = true
	}
}

// tell tells what was found out.
func (c *changed) tell(e *effect) {
	switch {
	case c.vague:
	case c.first == "insert":
		e.Adds = true
	case c.where > 0 && c.table != "":
		if c.until == 0 {
			c.until = c.end
		}
		e.Rows = "SELECT 1 FROM " + c.table + " WHERE" + e.text[c.where:c.until]
	}
}
