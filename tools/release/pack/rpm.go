package main

import (
	"os"

	"github.com/google/rpmpack"
)

// rpmArch is what RPM calls the architectures.
var rpmArch = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// rpm writes a package of RPM.
func (o *options) rpm(f *os.File) error {
	files, err := o.files("rpm")
	if err != nil {
		return err
	}
	r, err := rpmpack.NewRPM(rpmpack.RPMMetaData{
		Name: name, Version: o.packageVersion(), Release: "1", Epoch: rpmpack.NoEpoch,
		Arch: rpmArch[o.arch], Summary: summary, Description: summary + "\n" + description,
		Licence: "Apache-2.0", URL: homepage, Vendor: name, Packager: maintainer,
		Group: "Applications/Databases", BuildHost: name, BuildTime: o.time,
	})
	if err != nil {
		return err
	}
	for _, one := range files {
		as := rpmpack.RPMFile{Name: one.path, Body: one.text, Mode: uint(one.mode) | 0o100000,
			Owner: "root", Group: "root", MTime: uint32(o.time.Unix())}
		if one.config {
			as.Type = rpmpack.ConfigFile | rpmpack.NoReplaceFile
		}
		r.AddFile(as)
	}
	for name, add := range map[string]func(string){
		"postinstall": r.AddPostin, "preremove": r.AddPreun, "postremove": r.AddPostun,
	} {
		text, err := script(name)
		if err != nil {
			return err
		}
		add(string(text))
	}
	return r.Write(f)
}
