// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// A store keeps the links of its rows, and this room knows how they are made.
Store::Store(std::shared_ptr<const Backend> backend)
    : backend_(std::move(backend)), links_(std::make_unique<Links>(*this)) {}
Store::~Store() = default;

}  // namespace lacuna::analyzer
