// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "lacuna/prof/events.h"

namespace lacuna::analyzer {

/// The meaning of names that Kineto gives to work of a device, such as "Memcpy HtoD (Pageable ->
/// Device)". Unknown where a name has none of the words.
prof::CopyKind copyKindOf(std::string_view name);
prof::MemoryKind memoryKindOf(std::string_view name);
prof::SyncKind syncKindOf(std::string_view name);

}  // namespace lacuna::analyzer
