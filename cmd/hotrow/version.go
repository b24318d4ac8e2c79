package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the release build; else it is what Go knows of the module.
var version = ""

// versionCommand returns hotrow version.
func versionCommand(p *program) *cobra.Command {
	return p.command("version", "Print the version.", printVersion)
}

// printVersion prints the version, the commit and the compiler.
func printVersion(p *program) error {
	v, commit := buildVersion()
	fmt.Fprintf(p.stdout, "hotrow %s (commit %s, %s, %s/%s)\n", v, commit, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
	return nil
}

// buildVersion returns the version and the commit that the binary was built of.
func buildVersion() (v, commit string) {
	v, commit = version, "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v, commit
	}
	if v == "" {
		v = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			commit = s.Value[:12]
		}
	}
	return v, commit
}
