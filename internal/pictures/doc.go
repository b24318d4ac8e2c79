// Package pictures makes the pictures of README and docs from real runs of the program: an
// animated SVG of a write and of what readers get, and screenshots of the pages in both
// schemes.
//
// The tests make all of them each time and compare them with what docs/pictures has: an SVG
// must be the committed one but for its figures, screenshots must be there and small.
// HOTROW_PICTURES=write (make pictures) writes them to docs/pictures.
//
// It holds no code of the product and is imported by nothing.
package pictures
