#!/bin/sh
# Before a removal (deb: remove; rpm: 0), not before an upgrade.
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
	systemctl --no-reload disable --now hotrow.socket hotrow-wire.socket hotrow-resp.socket hotrow.service
fi
