package tier

// NoSync makes commits return before they are on disk, for tests that make
// thousands. Call it before the first Put.
func (d *Disk) NoSync() { d.file.db.NoSync = true }
