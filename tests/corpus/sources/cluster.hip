#include "h.h"
// Matrix times vector.  The workgroups of a cluster need the same vector: each element is fetched
// once for all of them, by an address in registers and by one relative to a scalar base.
#ifdef __gfx1250__
typedef int v4i __attribute__((ext_vector_type(4)));
typedef float v4f __attribute__((ext_vector_type(4)));
#define GLOBAL __attribute__((address_space(1)))
union Row { v4i bits; v4f values; };

DEV float dot(v4f a, v4f b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

extern "C" __global__ LB(64) void matrix_times_vector(
    const GLOBAL v4f *matrix, GLOBAL v4i *vector, GLOBAL float *result, int columns, int cluster) {
  float sum = 0;
  const GLOBAL v4f *row = matrix + (bid() * 64 + tid()) * columns;
  for (int i = 0; i < columns; i++) {
    Row element;
    element.bits = __builtin_amdgcn_cluster_load_b128(vector + i * 64 + tid(), 0, cluster);
    sum += dot(row[i], element.values);
  }
  result[bid() * 64 + tid()] = sum;
}

extern "C" __global__ LB(64) void gather(
    GLOBAL int **places, GLOBAL int *table, GLOBAL int *result, int cluster) {
  int near = __builtin_amdgcn_cluster_load_b32(table + tid(), 0, cluster);
  int far = __builtin_amdgcn_cluster_load_b32(places[tid()], 0, cluster);
  result[tid()] = near + far;
}
#endif
