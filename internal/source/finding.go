package source

// A Finding is one thing that Doctor or Check has to say.
type Finding struct {
	Level  Level
	Text   string   // one sentence, with the table or setting it is about
	Tables []string // that it is about alone, as Table.ID gives them; nil: it is about the mode
	Why    string   // what happens if it stays; may have several lines
	Apply  []string // statements that mend it; empty when a person must
	ByHand []string // statements that mend it and concern others too: for a person to run
	Remove []string // statements that undo Apply

	// RemoveByHand are statements that undo what may be another program's.
	RemoveByHand []string
}

// ByItself returns the finding that nothing is kept of a resource; false: something is.
func ByItself(p Plan, resource string) (Finding, bool) {
	why := p.ByItself()
	return Finding{
		Level: LevelWarning,
		Text:  "nothing of " + resource + " is kept in memory: " + why,
		Why: "every read is a read of the database, unless the resource has a ttl; a column that" +
			" fields leaves out does not count",
	}, why != ""
}

// Level says how bad a Finding is.
type Level uint8

// The levels.
const (
	LevelOK Level = iota
	LevelInfo
	LevelWarning
	LevelError // the mode cannot work until it is mended
)
