module interlock.test/toolchain/pause
go 1.26
