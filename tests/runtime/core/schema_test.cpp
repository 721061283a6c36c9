// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/nvtx_schema.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>

#include "lacuna/runtime/tensor.h"

namespace {

// A reader of version 1 relies on these sizes; a payload may grow, never shrink or move.
TEST(NvtxSchema, PayloadsKeepTheirLayout) {
  EXPECT_EQ(sizeof(LacunaRtOperator), 40U);
  EXPECT_EQ(sizeof(LacunaRtExecution), 64U);
  EXPECT_EQ(sizeof(LacunaRtMemory), 48U);
  EXPECT_EQ(sizeof(LacunaRtStep), 16U);
  EXPECT_EQ(sizeof(LacunaRtLoader), 24U);
  EXPECT_EQ(sizeof(LacunaRtSync), 24U);
  EXPECT_EQ(sizeof(LacunaRtQueue), 40U);
  EXPECT_EQ(offsetof(LacunaRtExecution, enqueueThread), 32U);
  EXPECT_EQ(offsetof(LacunaRtMemory, action), 44U);
  EXPECT_EQ(sizeof(LacunaRtComplete), 216U);
  EXPECT_EQ(offsetof(LacunaRtComplete, op), 64U);
  EXPECT_EQ(offsetof(LacunaRtComplete, memory), 168U);
}

TEST(NvtxSchema, SchemasHaveNamesAndIdsOfTheirOwn) {
  std::set<std::string> names;
  std::set<unsigned> ids;
#define LACUNA_TEST_COLLECT(Type, FIELDS, name, id) \
  names.insert(name);                               \
  ids.insert(id);
  LACUNA_RT_PAYLOADS(LACUNA_TEST_COLLECT)
  EXPECT_EQ(names.size(), 9U);
  EXPECT_EQ(ids.size(), 9U);
}

TEST(NvtxSchema, RolesHaveTheNumbersOfTheRuntime) {
  using lacuna::rt::Role;
  EXPECT_EQ(static_cast<int>(Role::Parameter), LACUNA_RT_ROLE_PARAMETER);
  EXPECT_EQ(static_cast<int>(Role::Workspace), LACUNA_RT_ROLE_WORKSPACE);
  EXPECT_EQ(static_cast<int>(Role::Cached), LACUNA_RT_ROLE_CACHED);
}

}  // namespace
