// Package policy holds tests about the repository itself: what each package
// may import, how big functions, files and lines may be, which names and calls
// are refused, and whether the documents' links lead anywhere.
//
// It has no code but tests. Each rule is a file; to change a rule is to change
// its table or its bound there, with the reason beside it.
package policy
