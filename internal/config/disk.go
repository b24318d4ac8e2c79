package config

import (
	"os"
	"path/filepath"
)

// Disk is the cache on disk behind the one in memory. Without a path there is
// none.
type Disk struct {
	Path string `yaml:"path" empty:"plain"`
	Max  Size   `yaml:"max" range:"16MiB..64TiB"`
}

// defaultDisk is the cache on disk of an empty file.
func defaultDisk() Disk {
	return Disk{Max: 20 << 30}
}

const pathDisk = "cache.disk.path"

// DiskPath returns the file of the cache on disk, "" for none: relative to the
// configuration that names it.
func (c *Config) DiskPath() string {
	if c.Cache.Disk.Path == "" {
		return ""
	}
	return c.relative(pathDisk, c.Cache.Disk.Path)
}

// diskWithout checks that nothing is said of a disk that is not there.
func (v *validator) diskWithout() {
	if v.c.Cache.Disk.Max != defaultDisk().Max {
		v.addf("cache.disk.max", "needs %s, too: the file of the cache on disk, such as "+
			"/var/lib/hotrow/cache.db", pathDisk)
	}
}

// disk checks cache.disk. The file itself is made or mended when it is opened.
func (v *validator) disk() {
	path := v.c.DiskPath()
	if path == "" {
		v.diskWithout()
		return
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		v.addf(pathDisk, "want a file, but %s is not one: name a file in it, such as %s", path,
			filepath.Join(path, "cache.db"))
		return
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		v.addf(pathDisk, "there is no directory %s: mkdir -p %s", dir, dir)
	}
}
