module github.com/hotrow/hotrow/bench/peers/users

go 1.26.0

require (
	github.com/bradfitz/gomemcache v0.0.0-20260422231931-4d751bb6e37c
	github.com/go-sql-driver/mysql v1.10.1
	github.com/vmihailenco/msgpack/v5 v5.4.1
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
)
