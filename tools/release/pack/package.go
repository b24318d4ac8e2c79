package main

import (
	"os"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the formats
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packed writes a package.
func (o *options) packed(f *os.File, format string) error {
	config, err := nfpm.ParseFile("deploy/package/nfpm.yaml")
	if err != nil {
		return err
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info.Name, info.Arch, info.MTime = "hotrow", o.arch, o.time
	info.Version, info.Prerelease = o.version, "" // not those that it has for none
	info = nfpm.WithDefaults(info)
	info.Contents = append(info.Contents, &files.Content{
		Source: o.binary, Destination: "/usr/bin/hotrow",
		FileInfo: &files.ContentFileInfo{Mode: 0o755},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return packager.Package(info, f)
}
