// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <new>

namespace lacuna::analyzer {

/// A callback of SQLite, which is C: exceptions must not cross it. A lack of memory becomes
/// SQLite's own error.
template <auto kCallback, class = decltype(kCallback)>
struct Guarded;

template <auto kCallback, class... Args>
struct Guarded<kCallback, int (*)(Args...)> {
  static int call(Args... args) noexcept {
    try {
      return kCallback(args...);
    } catch (const std::bad_alloc&) {
      return SQLITE_NOMEM;
    } catch (...) {
      return SQLITE_ERROR;
    }
  }
};
template <auto kCallback>
inline constexpr auto guarded = Guarded<kCallback>::call;

}  // namespace lacuna::analyzer
