package supervisor

import (
	"context"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready tells the supervisor that the process serves, and status, a sentence for
// people. Without a supervisor that listens (NOTIFY_SOCKET) it does nothing, as all
// that tells it something.
func Ready(log *slog.Logger, status string) {
	notify(log, daemon.SdNotifyReady+"\nSTATUS="+status)
}

// Reloading tells that the configuration is read again. Ready must follow.
func Reloading(log *slog.Logger) {
	notify(log, daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec())
}

// Stopping tells that the process ends.
func Stopping(log *slog.Logger) {
	notify(log, daemon.SdNotifyStopping+"\nSTATUS=stopping")
}

func notify(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd is not told", "state", state, "err", err)
	}
}

// Watch tells the supervisor that the process is alive for as long as alive returns
// nil, until ctx ends: twice in each interval in which systemd expects it
// (WatchdogSec=). It returns at once where nobody expects it. alive has half of the
// interval's half to answer.
func Watch(ctx context.Context, log *slog.Logger, alive func(context.Context) error) {
	interval, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is not served", "err", err)
	}
	if err != nil || interval <= 0 {
		return
	}
	for tick := time.NewTicker(interval / 2); ; {
		within, cancel := context.WithTimeout(ctx, interval/4)
		err := alive(within)
		cancel()
		if err == nil {
			notify(log, daemon.SdNotifyWatchdog)
		} else if ctx.Err() == nil {
			log.Error("the process does not answer itself, so systemd may restart it", "err", err)
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}
