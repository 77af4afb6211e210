# SPDX-License-Identifier: Apache-2.0
"""The pipeline: open, recover, prepare, arbitrate, place, commit, verify, write, report.

session     what stays the same for all inputs: settings and plugins
transform   one code object, up to and with verify
files       one input file
inputs      from paths to jobs
batch       many files, on one or several processes
"""
