module github.com/pingcap/tidb/pkg/parser

go 1.26.0
