// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "import/chrome/imported_places.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Places of a file that is read, and the rows that are made of them.
class PlacesTest : public testing::Test {
 protected:
  [[nodiscard]] std::string_view text(prof::StringId id) const { return builder_.text(id); }
  prof::Process::Columns& processes() { return builder_.columns<prof::Process>(); }
  prof::Thread::Columns& threads() { return builder_.columns<prof::Thread>(); }
  prof::Device::Columns& devices() { return builder_.columns<prof::Device>(); }
  prof::Queue::Columns& queues() { return builder_.columns<prof::Queue>(); }

  StoreBuilder builder_;
  ImportedPlaces places_{builder_};
};

}  // namespace lacuna::analyzer
