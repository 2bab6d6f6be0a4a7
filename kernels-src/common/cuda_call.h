// SPDX-License-Identifier: Apache-2.0
// Calls a kernel of CUDA C++ with a launch's arguments, for cuda_compat.h.
#pragma once

// CUDA's tensor map, as a kernel's parameter: it refers to the launch's argument,
// since a copy of that is no descriptor.
struct alignas(64) CUtensorMap {
    unsigned long long opaque[15];
    const void *map;
};

namespace groat {

// The address of a buffer whose elements have that many bytes.
template <unsigned bytes> struct pointer {
    unsigned long long at;
};

// Bytes of a pointer's elements; 1 of void.
template <class T> constexpr unsigned long bytes_of = sizeof(T);
template <> constexpr unsigned long bytes_of<void> = 1;
template <> constexpr unsigned long bytes_of<const void> = 1;

template <class P, unsigned bytes> P *point(pointer<bytes> x)
{
    static_assert(bytes_of<P> == 1 || bytes_of<P> % bytes == 0,
                  "the element type that --buffer gives has another size than "
                  "the pointer's");
    return reinterpret_cast<P *>(x.at);
}

// Converts a launch's pointers and numbers to the kernel's parameter types.
template <class P> struct convert {
    static_assert(!__is_class(P),
                  "a structure passed by value: groat judge takes its members, "
                  "as --arg PARAMETER.MEMBER=VALUE");
    static P of(unsigned long long x)
    {
        return static_cast<P>(static_cast<long long>(x));
    }
    static P of(double x)
    {
        return static_cast<P>(x);
    }
};

template <class P> struct convert<P *> {
    template <unsigned bytes> static P *of(pointer<bytes> x)
    {
        return point<P>(x);
    }
};

template <class P> struct convert<P *__restrict> {
    template <unsigned bytes> static P *of(pointer<bytes> x)
    {
        return point<P>(x);
    }
};

template <class M, class T> GROAT_LANES void set(M &member, T given)
{
    member = convert<M>::of(given);
}

template <class M, unsigned long n, class T>
GROAT_LANES void set(M (&)[n], T)
{
    static_assert(n == 0, "an array in a structure: groat judge takes its "
                          "elements, as --arg PARAMETER.MEMBER[0]=VALUE");
}

template <class A, class B> constexpr bool are_same = false;
template <class A> constexpr bool are_same<A, A> = true;

// A structure comes made of its members.
template <class P, class T> GROAT_LANES P passed(T given)
{
    if constexpr (are_same<P, T>)
        return given;
    else if constexpr (are_same<P, CUtensorMap *>)
        return const_cast<P>(given);
    else
        return convert<P>::of(given);
}

template <unsigned long n, class P, class... Q> struct type_at {
    typedef typename type_at<n - 1, Q...>::type type;
};

template <class P, class... Q> struct type_at<0, P, Q...> {
    typedef P type;
};

// The structure that is a kernel's parameter n.
template <unsigned long n, class... P, class F, class A>
GROAT_LANES auto made(void (*)(P...), F fill, const A &args)
{
    typename type_at<n, P...>::type whole{};

    fill(whole, args);
    return whole;
}

// Where a value is that lives as long as the call.
template <class T> GROAT_LANES const T *place(const T &value)
{
    return &value;
}

template <class... P, class... A>
GROAT_LANES void call(void (*kernel)(P...), A... given)
{
    static_assert(sizeof...(P) == sizeof...(A), "one value for each parameter");
    kernel(passed<P>(given)...);
}

} // namespace groat
