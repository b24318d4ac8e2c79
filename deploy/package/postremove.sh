#!/bin/sh
# What the service has kept in /var/lib/hotrow (links, SQLite files) is the operator's.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
