package main

import (
	"strings"
	"testing"
)

// TestTypes_OfADatabaseAndOfAConfiguration: names are those of members, columns that are hidden are
// not told, and a foreign key leads to what is served.
func TestTypes_OfADatabaseAndOfAConfiguration(t *testing.T) {
	t.Parallel()
	db := database(t, "CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL, token TEXT);"+
		" CREATE TABLE pet (id INTEGER PRIMARY KEY, owner_id INTEGER NOT NULL REFERENCES owner (id), born DATE)")
	text := mustCommand(t, "types", db)
	for _, want := range []string{
		"      owner: {\n        Row: {\n          id: number\n          name: string\n        }\n",
		"        Insert: {\n          id?: number\n          owner_id: number\n          born?: string | null\n",
		`{ foreignKeyName: "owner_id"; columns: ["owner_id"]; isOneToOne: false; referencedRelation: "owner";` +
			` referencedColumns: ["id"] }`} {
		if !strings.Contains(text, want) {
			t.Errorf("types of the file have no %q:\n%s", want, text)
		}
	}
	file := configFile(t, "version: 1\nsources: {main: {url: 'sqlite:"+db+"'}}\n"+
		"resources: {pets: {table: pet, fields: {born: {name: birthday}}}}\n")
	text = mustCommand(t, "types", "-c", file)
	if !strings.Contains(text, "      pets: {\n") || !strings.Contains(text, "birthday: string | null") ||
		!strings.Contains(text, "Relationships: []") {
		t.Errorf("types of the configuration:\n%s", text)
	}
	for _, args := range [][]string{{"types"}, {"types", db, "-c", file}, {"types", db + ".none"}} {
		if code, _, _ := command(t, args...); code == 0 {
			t.Errorf("%q is taken", args)
		}
	}
}
