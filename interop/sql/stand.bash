# What the scripts of interop/sql share, which are Debian's and run as root: servers of PostgreSQL
# below $stand, as the user postgres, and hotrow in front of them. The caller sets stand and hotrow
# (the program). All that was started ends with the script.

debian=/usr/lib/postgresql/15/bin
as() { (cd "$stand" && exec setpriv --reuid=postgres --regid=postgres --clear-groups "$@"); }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# server NAME BIN SETTING...: a new server, whose port is then in $port.
server() {
	local data=$stand/$1 bin=$2 settings="-k $stand" setting
	shift 2
	port=$(free_port)
	as "$bin/initdb" -D "$data" -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync >/dev/null
	for setting in fsync=off "port=$port" "$@"; do settings+=" -c $setting"; done
	as "$bin/pg_ctl" -s -w -D "$data" -l "$data.log" -o "$settings" start
	running+=("$bin $data")
}

# through URL VARIABLE...: a hotrow in front of a database, whose port is then in $port. VARIABLE
# is of its environment.
through() {
	local url=$1 log
	shift
	log=$(mktemp "$stand/hotrow-XXXXXX.log")
	env HOTROW_SQL_LISTEN=127.0.0.1:0 HOTROW_HTTP_LISTEN=127.0.0.1:0 HOTROW_OPS_LISTEN=127.0.0.1:0 \
		HOTROW_WIRE_LISTEN=off HOTROW_LINKS_LISTEN=off "$@" "$hotrow" serve "$url" >"$log" 2>&1 &
	relays+=($!)
	for _ in $(seq 200); do
		port=$(sed -nE 's/.*listening.* proto=sql(-tls)? addr=[^ ]*:([0-9]+).*/\2/p' "$log")
		[ -z "$port" ] || return 0
		kill -0 $! 2>/dev/null || break
		sleep 0.1
	done
	cat "$log" >&2
	return 1
}

# end stops what was started.
end() {
	local one
	for one in "${relays[@]}"; do kill "$one" 2>/dev/null && wait "$one" || true; done
	for one in "${running[@]}"; do as "${one% *}/pg_ctl" -s -m immediate -D "${one#* }" stop || true; done
	relays=() running=()
}

# put NAME FILE: a table into the page, between its marks.
put() {
	awk -v name="$1" -v table="$2" '$0 == "<!-- /" name " -->" { inside = 0 } !inside
		$0 == "<!-- " name " -->" { inside = 1; while ((getline line < table) > 0) print line }' "$page" >"$stand/page"
	cat "$stand/page" >"$page"
}

relays=() running=() page=$PWD/docs/reference/sql.md
trap 'end; rm -rf "$stand"' EXIT
chmod 755 "$stand"
chown postgres "$stand"
