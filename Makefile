# `make help` lists what there is. Every target can be run by hand, on a machine
# that has Go, git and make; those that reach the kernel want root.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# A clone may belong to another user than the one who builds; git then refuses
# to answer, and the Go command fails with it. So git is told that this folder is
# fine, and whatever tests build does not ask it at all (-buildvcs comes last,
# where it wins). Only the program itself carries its commit.
export GIT_CONFIG_COUNT := 1
export GIT_CONFIG_KEY_0 := safe.directory
export GIT_CONFIG_VALUE_0 := $(CURDIR)
export GOFLAGS := $(strip $(shell go env GOFLAGS) -buildvcs=false)
BUILDVCS := $(shell git -c safe.directory='$(CURDIR)' rev-parse HEAD >/dev/null 2>&1 && echo auto || echo false)

# Debian keeps nft, conntrack and ip in sbin, which is not on everyone's PATH.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin

# One way to compile for building, testing and trying: what is tested is what is
# built, and nothing is compiled twice. It also needs no C compiler.
export CGO_ENABLED := 0

# VERSION names a release, which is built without traces of this machine. Without
# it the program calls itself after its commit.
VERSION :=
RELEASE := $(if $(VERSION),-trimpath -ldflags '-s -w -X main.version=$(VERSION)')
# The kernel is an input that Go's cache of test results knows nothing of.
GO_TEST := go test -count=1 -timeout=20m
LINT := bin/golangci-lint
MODULES := $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path './.cache/*' | sort))
# A module that only pins a program to build has no code of ours to lint.
LINTED := . $(filter-out . ./tools ./test/cluster/kube,$(MODULES))
# Packages whose tests compare with golden files and can write them.
GOLDEN := $(shell grep -rl --include='*_test.go' 'flag.Bool..update' agent cmd internal nft | xargs -n 1 dirname | sed 's,^,./,' | sort -u)
SCRIPTS := .ci/run $(shell grep -rlE '^\#!.*\b(ba)?sh$$' hack test --include='*' --exclude-dir=.cache)

BENCH ?= .
BENCHTIME ?= 1s

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## bin/nearside, a static program; VERSION=v1.2.3 for a release
	go build -buildvcs=$(BUILDVCS) $(RELEASE) -o bin/nearside ./cmd/nearside

.PHONY: demo
demo: build ## a small cluster of network namespaces with real traffic (root; about 20 s)
	@hack/prereqs kernel
	bin/nearside demo

.PHONY: test
test: ## every test of the library; with root the kernel tests too
	@if [ "$$(id -u)" -eq 0 ]; then hack/prereqs kernel; \
	else echo 'make test: not root, so the tests that need the kernel will be skipped'; fi
	$(GO_TEST) ./...

.PHONY: test-race
test-race: ## the tests that need no kernel under the race detector (wants a C compiler)
	@hack/prereqs race
	CGO_ENABLED=1 $(GO_TEST) -race -short ./selector/... ./nft/... ./informer/... ./agent/...

.PHONY: test-cluster
test-cluster: ## nearside against a real API server (root; the first time builds one, 10 minutes)
	@hack/prereqs kernel
	test/apiserver.sh build
	cd test/cluster && $(GO_TEST) ./...

.PHONY: bench
bench: ## benchmarks of selector and nft; BENCH=regexp and BENCHTIME=time choose
	go test -run='^$$' -bench='$(BENCH)' -benchmem -benchtime=$(BENCHTIME) -timeout=30m ./selector/... ./nft/...

.PHONY: lint
lint: $(LINT) ## golangci-lint in all modules, shellcheck on the scripts
	@hack/prereqs lint
	@for module in $(LINTED); do echo "golangci-lint $$module"; \
		(cd $$module && $(CURDIR)/$(LINT) run --allow-parallel-runners --config=$(CURDIR)/.golangci.yml ./...); done
	shellcheck $(SCRIPTS)

# A tool in a module of its own: who uses the library inherits none of it.
$(LINT): tools/go.mod tools/go.sum
	go -C tools build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: fmt
fmt: $(LINT) ## format the Go code and sort its imports
	@for module in $(LINTED); do (cd $$module && $(CURDIR)/$(LINT) fmt --config=$(CURDIR)/.golangci.yml ./...); done

.PHONY: gen
gen: ## write golden rulesets and the copies of code in the docs anew; read the difference
	go test $(GOLDEN) -update
	go test ./semantics -run=Page -update
	go test ./docs -run=TestCodeInTheText -update

.PHONY: verify
verify: ## nothing left undone: go.mod tidy, code formatted and vetted, files as generated
	@for module in $(MODULES); do echo "go mod tidy -diff: $$module"; go -C $$module mod tidy -diff; done
	@unformatted=$$(gofmt -l $$(find . -name '*.go' -not -path './.cache/*')); \
		[ -z "$$unformatted" ] || { echo "gofmt would change:" $$unformatted; exit 1; }
	@for module in $(LINTED); do echo "go vet: $$module"; go -C $$module vet ./...; done

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .cache
