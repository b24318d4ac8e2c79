module github.com/hotrow/hotrow/interop/gofast

go 1.26.0

// gofast's own load generator, the other end of the interoperability tests. It
// has a module of its own so that hotrow depends on none of this.
tool github.com/bnclabs/gofast/perf

require github.com/bnclabs/gofast v0.0.0-20210210111353-5c982d6094f0 // indirect

require (
	github.com/bnclabs/golog v0.0.0-20210210111405-2049724535b8 // indirect
	github.com/bnclabs/gosettings v0.0.0-20210210111304-0d91c5ae496a // indirect
	github.com/bnclabs/gson v0.0.0-20210409011557-2e73bae93c0b // indirect
	github.com/mattn/go-colorable v0.1.16 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/prataprc/color v1.7.0 // indirect
	golang.org/x/sys v0.29.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/prataprc/color => github.com/fatih/color v1.7.0
