// Package packagetest installs the Debian package into a system of its own, with nothing
// in it but a shell, and runs what the unit says as a user of its own on a file system
// that is read-only. make release-test does more, with a systemd that has booted, and
// takes half an hour.
package packagetest
