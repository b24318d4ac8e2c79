// Package apps asks what four well-known programs ask of their databases: Chinook, a shop
// of music, over SQLite and PostgreSQL; Sakila, which lends films, over MariaDB; WordPress
// over MariaDB; Mastodon over PostgreSQL.
//
// Their tables are here, as far as the questions need them, with the types, collations and
// indexes that they have there, and rows that are made up. hotrow runs as a process of its
// own. For each question a test proves what docs/reference/questions.md says of it: whether
// the answer comes from memory, which writes it outlives, and that it is never old.
//
// It holds no code of the product and is imported by nothing.
package apps
