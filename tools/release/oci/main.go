// Command oci adds the image of one architecture to an archive of an OCI image layout:
// the program, certificates of the public authorities, and directories that its user may
// write to; no system around them. The same input gives the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is whom the program runs as: nobody, as images call it.
const user = 65532

type options struct {
	binary, arch, version, revision, root, out string
	time                                       int64
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("oci: ")
	var o options
	flag.StringVar(&o.binary, "binary", "", "the program for this architecture")
	flag.StringVar(&o.arch, "arch", "", "amd64 or arm64")
	flag.StringVar(&o.version, "version", "", "the version")
	flag.StringVar(&o.revision, "revision", "", "the commit")
	flag.Int64Var(&o.time, "time", 0, "the commit's time, in seconds")
	flag.StringVar(&o.root, "root", ".", "the repository")
	flag.StringVar(&o.out, "out", "", "the archive, which is made or added to")
	flag.Parse()
	if err := o.add(); err != nil {
		log.Fatal(err)
	}
}

// add adds the image to the index of the layout, whose files lie beside the archive for
// this, and packs it.
func (o *options) add() error {
	img, err := o.image()
	if err != nil {
		return fmt.Errorf("make the image for %s: %w", o.arch, err)
	}
	dir := o.out + ".d"
	images, err := indexed(dir)
	if err != nil {
		return fmt.Errorf("read the layout %s: %w", dir, err)
	}
	images = mutate.AppendManifests(images, mutate.IndexAddendum{Add: img,
		Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: o.arch}}})
	fresh := dir + ".new" // without the index that is replaced
	at, err := layout.Write(fresh, empty.Index)
	if err != nil {
		return fmt.Errorf("write a layout: %w", err)
	}
	if err := at.AppendIndex(images, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": o.version})); err != nil {
		return fmt.Errorf("write the layout %s: %w", fresh, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return err
	}
	return pack(dir, o.out)
}

// indexed returns the images that a layout holds, none where there is no layout.
func indexed(dir string) (v1.ImageIndex, error) {
	at, err := layout.FromPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return mutate.IndexMediaType(empty.Index, types.OCIImageIndex), nil
	}
	if err != nil {
		return nil, err
	}
	all, err := at.ImageIndex()
	if err != nil {
		return nil, err
	}
	list, err := all.IndexManifest()
	if err != nil {
		return nil, err
	}
	return all.ImageIndex(list.Manifests[0].Digest)
}

// image makes the image.
func (o *options) image() (v1.Image, error) {
	files, err := o.layer()
	if err != nil {
		return nil, err
	}
	made := time.Unix(o.time, 0).UTC()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{
		Created: v1.Time{Time: made}, CreatedBy: "make release"}}); err != nil {
		return nil, err
	}
	return mutate.ConfigFile(img, o.config(img, made))
}

// config returns the image's configuration with how the program is started.
func (o *options) config(img v1.Image, made time.Time) *v1.ConfigFile {
	file, err := img.ConfigFile()
	if err != nil {
		log.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", o.arch, v1.Time{Time: made}
	file.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Entrypoint:   []string{"/usr/bin/hotrow"},
		Cmd:          []string{"serve", "-c", "/etc/hotrow/hotrow.yaml"},
		Env:          []string{"PATH=/usr/bin", "HOME=/var/lib/hotrow"},
		WorkingDir:   "/var/lib/hotrow",
		StopSignal:   "SIGTERM",
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "hotrow",
			"org.opencontainers.image.source":   "https://github.com/hotrow/hotrow",
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version":  o.version,
			"org.opencontainers.image.revision": o.revision,
			"org.opencontainers.image.created":  made.Format(time.RFC3339),
		},
	}
	return file
}

// layer returns the files of the image as a tar.
func (o *options) layer() ([]byte, error) {
	program, err := os.ReadFile(o.binary)
	if err != nil {
		return nil, err
	}
	notices, err := os.ReadFile(filepath.Join(o.root, "deploy/NOTICES.txt"))
	if err != nil {
		return nil, err
	}
	var authorities bytes.Buffer
	for root := range bundle.Roots() {
		block := &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}
		if err := pem.Encode(&authorities, block); err != nil {
			return nil, err
		}
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range []struct {
		name  string
		mode  int64
		owner int
		text  []byte
	}{
		{"etc/", 0o755, 0, nil},
		{"etc/hotrow/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "hotrow:x:%d:\n", user)},
		{"etc/passwd", 0o644, 0,
			fmt.Appendf(nil, "hotrow:x:%d:%d::/var/lib/hotrow:/\n", user, user)},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities.Bytes()},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/bin/hotrow", 0o755, 0, program},
		{"usr/share/", 0o755, 0, nil},
		{"usr/share/doc/", 0o755, 0, nil},
		{"usr/share/doc/hotrow/", 0o755, 0, nil},
		{"usr/share/doc/hotrow/NOTICES.txt", 0o644, 0, notices},
		{"var/", 0o755, 0, nil},
		{"var/lib/", 0o755, 0, nil},
		{"var/lib/hotrow/", 0o700, user, nil},
	} {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner,
			Size: int64(len(f.text)), ModTime: time.Unix(o.time, 0), Typeflag: tar.TypeReg}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := write(w, h, f.text); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), w.Close()
}

// pack writes the files of a directory as a tar, in the order of their names.
func pack(dir, out string) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return write(w, &tar.Header{Name: filepath.ToSlash(name), Mode: 0o644,
			Size: int64(len(text)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0)}, text)
	})
	return errors.Join(err, w.Close(), f.Close())
}

func write(w *tar.Writer, h *tar.Header, text []byte) error {
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(text)
	return err
}
