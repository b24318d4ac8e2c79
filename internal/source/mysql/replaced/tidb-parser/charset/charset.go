// Package charset stands in for the one of TiDB's parser, which the client of go-mysql asks
// for the number of a collation. TiDB's has with it the tables of Asian encodings, the names
// of a thousand errors, a log library and its files: two megabytes of program.
//
// A feed's connection asks for no collation, so it has go-mysql's default.
package charset

import "fmt"

// A Collation is a collation of a character set.
type Collation struct {
	ID          int // of MySQL's protocol
	CharsetName string
	Name        string
}

// GetCollationByName returns the collation that a connection has unless it asks for another;
// for any other name, an error.
func GetCollationByName(name string) (*Collation, error) {
	if name != "utf8mb4_0900_ai_ci" {
		return nil, fmt.Errorf("collation %q is not known here", name)
	}
	return &Collation{ID: 255, CharsetName: "utf8mb4", Name: name}, nil
}
