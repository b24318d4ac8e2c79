package main

import (
	"log/slog"

	"github.com/hotrow/hotrow/internal/config"
)

// What a server has open besides what its clients and its databases' pools are:
// listeners, event loops with their wake-ups, standard streams, a file that is being
// read (27 were counted with two loops and a pool of 8); what the feed of a source
// has, a fence and a settler with it; and what links has, of its log and its pages.
const (
	filesOfServer = 40
	filesOfSource = 4
	filesOfDisk   = 4
	filesOfLinks  = 16

	// filesOfClients is how many clients there should be room for at least.
	filesOfClients = 100
)

// filesNeeded returns how many files what cfg says may have open, clients apart.
func filesNeeded(cfg *config.Config) int {
	n := filesOfServer
	for _, s := range cfg.Sources {
		n += s.Pool.Max + filesOfSource
	}
	if cfg.Cache.Disk.Path != "" {
		n += filesOfDisk
	}
	if cfg.LinksSource() != "" {
		n += filesOfLinks
	}
	return n
}

// warnFiles says when the system's limit of open files leaves no room for clients:
// they would wait and nobody would know for what. The runtime has raised the limit
// as far as this process may.
func warnFiles(cfg *config.Config, limit uint64, log *slog.Logger) {
	need := filesNeeded(cfg)
	if limit == 0 || limit >= uint64(need+filesOfClients) {
		return
	}
	log.Warn("few files may be open: connections of clients will have to wait", "limit", limit,
		"needed", need, "clients", max(0, int(limit)-need),
		"hint", "raise it with ulimit -n or LimitNOFILE=, or make pool.max smaller")
}
