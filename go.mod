module github.com/nearside/nearside

go 1.26.0
