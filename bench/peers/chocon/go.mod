module github.com/hotrow/hotrow/bench/peers/chocon

go 1.26.0

require github.com/kazeburo/chocon v0.12.6
