// Package testbed serves a real database as hotrow does, within a test: the core, HTTP on a
// socket, a tier on disk if asked for. Tests that load it or break it start here.
package testbed
