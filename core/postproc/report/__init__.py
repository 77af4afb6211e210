# SPDX-License-Identifier: Apache-2.0
"""What was done and what was found: documents for programs, tables for people.

document   `postproc.report/1` and `postproc.map/1`
build      reports from transformations
console    the short table
inspect    `postproc.inspect/1`
"""
