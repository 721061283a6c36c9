// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// glibc 2.29 gave these functions a second version, which reports errors in another way. Programs
// that must start with glibc 2.28 use the first version. See old_glibc.c.
#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#else
#error "the first version of glibc's symbols on this processor is not known"
#endif

#define FIRST_OF_ONE(name)                                      \
  double first_##name(double);                                  \
  __asm__(".symver first_" #name ", " #name "@" FIRST_VERSION); \
  double name(double x) {                                       \
    return first_##name(x);                                     \
  }
FIRST_OF_ONE(exp)
FIRST_OF_ONE(exp2)
FIRST_OF_ONE(log)
FIRST_OF_ONE(log2)
double first_pow(double, double);
__asm__(".symver first_pow, pow@" FIRST_VERSION);
double pow(double x, double y) {
  return first_pow(x, y);
}
