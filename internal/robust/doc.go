// Package robust makes everything fail that hotrow depends on, and looks at what
// a reader gets meanwhile: the failure matrix.
//
// Each row runs the program itself, as a process of its own, over a real
// database, and says what was seen: no answer that counts as fresh is older than
// the contract allows, and hits, misses and recovery are as docs/howto/failures.md
// promises. It is started as users start it: with a configuration file, and by the
// URL of the database alone. A third of the rows runs with the other tests, where
// the database is away in both forms; HOTROW_ROBUST=all
// runs all of them, those that other packages test as well, and prints the table
// (make robust), HOTROW_ROBUST=soak the long forms.
//
// It holds no code of the product and is imported by nothing.
package robust
