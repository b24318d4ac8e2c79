package main

import (
	"fmt"
	"log/slog"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/tier"
)

// openDisk opens the cache on disk; nil when the configuration has none.
func openDisk(cfg *config.Config, log *slog.Logger) (*tier.Disk, error) {
	path := cfg.DiskPath()
	if path == "" {
		return nil, nil
	}
	d, err := tier.OpenDisk(tier.DiskOptions{
		Path: path, MaxBytes: int64(cfg.Cache.Disk.Max), Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("cache.disk: %w", err)
	}
	return d, nil
}

// addDisk adds what the cache on disk counts to a snapshot.
func (s *server) addDisk(snap *ops.Snapshot) {
	if s.disk == nil {
		return
	}
	t, d := s.disk.Stats(), s.disk.DiskStats()
	snap.Tiers = append(snap.Tiers, ops.Tier{
		Name: "disk", Entries: t.Entries, Negative: t.Negative, Bytes: t.Bytes,
		MaxBytes: t.MaxBytes, Hits: t.Hits, Misses: t.Misses, Evictions: t.Evictions,
	})
	snap.Disk = &ops.Disk{
		Up: d.On, Waiting: d.Waiting, WaitingBytes: d.WaitBytes,
		Commits: d.Batches, CommitTime: d.CommitTime,
		CommitAge: d.CommitAge, Refused: d.Refused, BrokenRecords: d.CRCFailures,
		BrokenFiles: d.Quarantines, UsedBytes: d.FileBytes - d.FreeBytes, FreeBytes: d.FreeBytes,
	}
}
