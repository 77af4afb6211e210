# SPDX-License-Identifier: Apache-2.0
"""Triton kernels of the corpus; `rebuild_triton.py` compiles them."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def transpose(x, out, m, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + rows[:, None] * n + columns[None, :])
    tl.store(out + columns[:, None] * m + rows[None, :], tl.trans(tile))


@triton.jit
def gemm(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    left = a + rows[:, None] * k + depth[None, :]
    right = b + depth[:, None] * n + columns[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, k, BK):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK * n
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def gemm_descriptors(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    right = tl.make_tensor_descriptor(b, shape=[k, n], strides=[n, 1], block_shape=[BK, BN])
    result = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k, BK):
        total = tl.dot(left.load([row, step]), right.load([step, column]), total)
    result.store([row, column], total.to(c.dtype.element_ty))


@triton.jit
def gemm_scaled(
    a,
    a_scale,
    b,
    b_scale,
    c,
    m,
    n,
    k,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    A_FORMAT: tl.constexpr,
    B_FORMAT: tl.constexpr,
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    groups = tl.arange(0, BK // 32)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k, BK):
        left = tl.load(a + rows[:, None] * k + (step + depth)[None, :])
        right = tl.load(b + (step + depth)[:, None] * n + columns[None, :])
        scale = step // 32 + groups
        left_scale = tl.load(a_scale + rows[:, None] * (k // 32) + scale[None, :])
        right_scale = tl.load(b_scale + columns[:, None] * (k // 32) + scale[None, :])
        total = tl.dot_scaled(left, left_scale, A_FORMAT, right, right_scale, B_FORMAT, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


@triton.jit(noinline=True)
def weigh(p, n, a):
    total = 0.0
    for j in range(n):
        total = total * 0.5 + tl.load(p + j).to(tl.float32) * a
    return total


@triton.jit
def calls(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    left = tl.load(x + i, mask=mask)
    right = tl.load(y + i, mask=mask)
    s = weigh(x, n, 2.0)
    t = weigh(y, n // 2, s)
    tl.store(out + i, left * s + right * t, mask=mask)
