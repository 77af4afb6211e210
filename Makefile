# SPDX-License-Identifier: Apache-2.0
.POSIX:
.SUFFIXES:
.PHONY: help demo test test-slow lint clean

DEMO_INPUT = tests/corpus/gfx1250/cluster_O3.co

help:
	@echo "make demo       install into .venv and rewrite a gfx1250 kernel, with its report"
	@echo "make test       everything that CI runs (installs LLVM 22 with apt if it may)"
	@echo "make test-slow  the tests that take minutes: long fuzzing and the like"
	@echo "make lint       ruff, mypy --strict and import-linter"
	@echo "make clean      remove .venv, build and caches"

demo: .venv/installed
	@mkdir -p build
	.venv/bin/postproc --config configs/hotswap.toml $(DEMO_INPUT) \
	    -o build/demo.co --report build/demo.json --map build/demo.map.json
	@echo "wrote build/demo.co, build/demo.json and build/demo.map.json"

test: lint
	.ci/need-llvm
	.venv/bin/pytest -n 2

test-slow: .venv/installed-dev
	.ci/need-llvm
	.venv/bin/pytest -n 2 -m slow

lint: .venv/installed-dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy --strict
	.venv/bin/lint-imports

clean:
	rm -rf .venv build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

.venv/installed: pyproject.toml .ci/make-venv
	.ci/make-venv ""
	@touch $@

.venv/installed-dev: pyproject.toml .ci/make-venv
	.ci/make-venv "[dev,test]"
	@touch $@ .venv/installed
