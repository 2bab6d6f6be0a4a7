// SPDX-License-Identifier: Apache-2.0
// Output of names.cu, floats.cu, rounded.cu and ptx.cu: tests/cli/judge_names.sh puts
// this in front of them, and so must who runs them on a device.
struct row {
    unsigned long long *at;

    __device__ void put(unsigned long long value)
    {
        at[threadIdx.x] = value;
        at += 32;
    }
};
