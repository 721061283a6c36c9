// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lacuna::rt {

/// The code that computes products, convolutions and attention of f32 and bf16 on the CPU. Knob
/// `backend`.
enum class Backend : std::uint8_t {
  Tuned,     ///< oneDNN
  Reference  ///< plain loops, as f64 always: slow; it shows if a fault is the library's
};
/// The last choice of setBackend(), else LACUNA_BACKEND (`tuned` or `reference`); Tuned where
/// neither is set.
[[nodiscard]] Backend backend();
/// For all threads. Work that is enqueued runs first, on the backend chosen for it.
void setBackend(Backend chosen);

}  // namespace lacuna::rt
