// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "whatif/changes/change_type.h"

/// One line for each change, in the order of lists: knobs, parts, and those that cannot be
/// replayed.
#define LACUNA_CHANGES(CHANGE) \
  CHANGE(loaderWorkers)        \
  CHANGE(loaderPrefetch)       \
  CHANGE(loaderPin)            \
  CHANGE(amp)                  \
  CHANGE(staticGraph)          \
  CHANGE(fuse)                 \
  CHANGE(autotune)             \
  CHANGE(zeroGrad)             \
  CHANGE(convBias)             \
  CHANGE(fusedOptimizer)       \
  CHANGE(sync)                 \
  CHANGE(allocator)            \
  CHANGE(debug)                \
  CHANGE(overlap)              \
  CHANGE(repeats)              \
  CHANGE(kernel)               \
  CHANGE(call)                 \
  CHANGE(host)                 \
  CHANGE(copy)                 \
  CHANGE(communication)        \
  CHANGE(loader)               \
  CHANGE(startDelay)           \
  CHANGE(offCpu)               \
  CHANGE(replication)          \
  CHANGE(throughHost)          \
  CHANGE(conversion)           \
  CHANGE(coresTaken)           \
  CHANGE(batch)                \
  CHANGE(checkpoint)           \
  CHANGE(workspace)            \
  CHANGE(backend)

namespace lacuna::analyzer {

namespace changes {
#define LACUNA_DECLARE_CHANGE(name) extern const ChangeType name;
LACUNA_CHANGES(LACUNA_DECLARE_CHANGE)
#undef LACUNA_DECLARE_CHANGE
}  // namespace changes

std::span<const ChangeType* const> changeTypes();
/// The effect of the change. A change that no parser made may have a target that is none: nothing
/// is known of that, and it does nothing. Nor does a switch on the side that the run was recorded
/// with.
const ChangeType& typeOf(const Change& change);
/// Null where there is none of that name.
const ChangeType* findChangeType(std::string_view name);

}  // namespace lacuna::analyzer
