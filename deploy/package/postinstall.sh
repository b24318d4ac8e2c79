#!/bin/sh
# After an installation (deb: configure; rpm: 1) and an upgrade (deb: configure VERSION; rpm: 2).
set -e
# hotrow check looks for them before the service has had systemd make them.
for dir in /var/lib/hotrow /var/log/hotrow; do
	[ -e $dir ] || mkdir -m 0700 $dir
done
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ "$1" = configure ] && [ -n "$2" ] || [ "$1" = 2 ]; then
	# What runs is of the new version; what does not run stays so.
	systemctl try-restart hotrow.service
fi
