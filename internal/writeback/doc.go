// Package writeback tests that what was read can be written back: for every type
// that a database's own catalogue has, in every format, through the HTTP front.
//
// A row is made by plain SQL, its document is read and sent back as it is, and the
// database itself is asked whether the row is the same bit by bit. What cannot be
// written has to be refused by name. A type without sample values fails the test, so
// that no type of a later version is forgotten.
//
// It holds no code of the product and is imported by nothing.
package writeback
