/* a comment /* in a comment */ #if 0
#if defined(A) && \
    B
#elif 1 // else
struct s { struct { int n[2][3]; } in; enum { x, y = 3 }; } ;
#else
}}}} )))) "
#endif
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define LAUNCH(...) do { __VA_ARGS__; } while (0)
const char *raw = R"x(" ) /* )x"; const char q = '\''; int big = 1'000'000;
namespace a::b { namespace { template <class T> struct v { T t; T operator()(T) const; operator T(); }; } }
using f = void (*)(int); typedef struct { f g; } h; static __device__ int CAT(de, vice)[4] = {1, 2};
__global__ void CAT(k, 1)(a::b::v<int> w, s p, const volatile unsigned long long int *const *q);
__global__ void k2(int n = 3, unsigned char c = 'x', float (*r)[4] = nullptr) { LAUNCH(r[0][n] = c); } ;
__global__ static inline void k3(int2 v, bool, long long, const half2 *__restrict__ = 0) try { } catch (...) { }
#include "none.h"
#include <none
#pragma unroll
#line 7 "other.cu"
