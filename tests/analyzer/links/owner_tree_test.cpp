// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::DeviceId, prof::ProcessId, prof::QueueId, prof::ThreadId;

/// Rows of the small tables, by their numbers; 0 is nobody.
class OwnerTreeTest : public testing::Test {
 protected:
  void process(std::uint32_t id, std::uint32_t parent = 0) {
    trace_.append(prof::Process{.id = ProcessId(id), .parent = ProcessId(parent)});
  }
  void thread(std::uint32_t id, std::uint32_t process) {
    trace_.append(prof::Thread{.id = ThreadId(id), .process = ProcessId(process)});
  }
  void device(std::uint32_t id, std::uint32_t process = 0) {
    trace_.append(prof::Device{.id = DeviceId(id), .process = ProcessId(process)});
  }
  void queue(std::uint32_t id, std::uint32_t device, std::uint32_t process) {
    trace_.append(
        prof::Queue{.id = QueueId(id), .device = DeviceId(device), .process = ProcessId(process)});
  }
  OwnerTree read() { return OwnerTree::read(*trace_.build()); }

  StoreBuilder trace_;
};

template <class Node>
std::vector<std::uint32_t> idsOf(const std::vector<Node>& nodes) {
  std::vector<std::uint32_t> out;
  for (const Node& node : nodes) {
    if constexpr (requires { node.id; }) {
      out.push_back(node.id.value);
    } else {
      out.push_back(node.value);
    }
  }
  return out;
}

using Ids = std::vector<std::uint32_t>;

TEST_F(OwnerTreeTest, ATraceWithoutRowsHasNoOwners) {
  const OwnerTree tree = read();
  EXPECT_TRUE(tree.processes.empty() && tree.devices.empty());
  EXPECT_EQ(tree.process(ProcessId(1)), nullptr);
  EXPECT_EQ(tree.device(DeviceId(1)), nullptr);
  EXPECT_EQ(tree.processOf(ThreadId(1)), ProcessId());
  EXPECT_EQ(tree.processOf(QueueId(1)), ProcessId());
  EXPECT_EQ(tree.deviceOf(QueueId(1)), DeviceId());
}

TEST_F(OwnerTreeTest, ListsHoldIdsInOrderHoweverTheirRowsCome) {
  for (const std::uint32_t id : {3U, 1U, 2U}) process(id, id == 1 ? 0 : 1);
  for (const std::uint32_t id : {9U, 4U, 7U}) thread(id, 1);
  for (const std::uint32_t id : {6U, 5U}) device(id);
  for (const std::uint32_t id : {8U, 2U, 5U}) queue(id, id == 5 ? 5 : 6, 1);
  const OwnerTree tree = read();
  EXPECT_EQ(idsOf(tree.processes), (Ids{1, 2, 3}));
  EXPECT_EQ(idsOf(tree.process(ProcessId(1))->children), (Ids{2, 3}));
  EXPECT_EQ(idsOf(tree.process(ProcessId(1))->threads), (Ids{4, 7, 9}));
  EXPECT_EQ(idsOf(tree.process(ProcessId(1))->queues), (Ids{2, 5, 8}));
  EXPECT_EQ(idsOf(tree.process(ProcessId(1))->devices), (Ids{5, 6})) << "each device once";
  EXPECT_EQ(idsOf(tree.devices), (Ids{5, 6}));
  EXPECT_EQ(idsOf(tree.device(DeviceId(6))->queues), (Ids{2, 8}));
  EXPECT_EQ(tree.process(ProcessId(2))->parent, ProcessId(1));
  for (const auto& [id, owner] : {std::pair(4U, 1U), {7U, 1U}, {9U, 1U}, {5U, 0U}, {10U, 0U}})
    EXPECT_EQ(tree.processOf(ThreadId(id)), ProcessId(owner)) << id;
}

TEST_F(OwnerTreeTest, OwnersThatHaveNoRowOfTheirOwnAreThereAllTheSame) {
  process(2, 7);
  thread(1, 3);
  queue(1, 4, 5);
  const OwnerTree tree = read();
  EXPECT_EQ(idsOf(tree.processes), (Ids{2, 3, 5, 7}));
  EXPECT_EQ(idsOf(tree.process(ProcessId(7))->children), (Ids{2}));
  EXPECT_EQ(tree.process(ProcessId(7))->parent, ProcessId());
  EXPECT_EQ(idsOf(tree.process(ProcessId(3))->threads), (Ids{1}));
  EXPECT_EQ(idsOf(tree.process(ProcessId(5))->devices), (Ids{4}));
  EXPECT_EQ(idsOf(tree.device(DeviceId(4))->queues), (Ids{1}));
}

TEST_F(OwnerTreeTest, ADeviceIsOfItsOwnerAndOfThoseWhoFillItsQueues) {
  for (const std::uint32_t id : {1U, 2U, 3U}) process(id);
  device(1, 3);  // a CPU
  device(2);
  queue(1, 2, 1);
  queue(2, 2, 2);
  queue(3, 2, 0);
  const OwnerTree tree = read();
  EXPECT_EQ(idsOf(tree.process(ProcessId(1))->devices), (Ids{2}));
  EXPECT_EQ(idsOf(tree.process(ProcessId(2))->devices), (Ids{2}));
  EXPECT_EQ(idsOf(tree.process(ProcessId(3))->devices), (Ids{1}));
  EXPECT_TRUE(tree.process(ProcessId(3))->queues.empty());
  EXPECT_EQ(idsOf(tree.device(DeviceId(2))->queues), (Ids{1, 2, 3}));
  EXPECT_EQ(tree.deviceOf(QueueId(3)), DeviceId(2));
  EXPECT_EQ(tree.processOf(QueueId(2)), ProcessId(2));
  EXPECT_EQ(tree.processOf(QueueId(3)), ProcessId()) << "three processes could have filled it";
  EXPECT_EQ(tree.processOf(QueueId(4)), ProcessId());
}

TEST_F(OwnerTreeTest, TheOnlyProcessFillsEveryQueue) {
  process(4);
  device(1);
  queue(1, 1, 0);
  const OwnerTree tree = read();
  EXPECT_EQ(tree.processOf(QueueId(1)), ProcessId(4));
  EXPECT_EQ(tree.processOf(QueueId(9)), ProcessId(4)) << "a queue that the trace does not list";
  EXPECT_EQ(tree.deviceOf(QueueId(9)), DeviceId());
  EXPECT_TRUE(tree.process(ProcessId(4))->queues.empty()) << "lists hold what the trace has";
}

TEST_F(OwnerTreeTest, TheLastRowAboutAProcessHasItsParent) {
  process(1);
  process(2);
  process(3, 1);
  process(3, 2);
  const OwnerTree tree = read();
  EXPECT_EQ(idsOf(tree.processes), (Ids{1, 2, 3}));
  EXPECT_EQ(tree.process(ProcessId(3))->parent, ProcessId(2));
  EXPECT_TRUE(tree.process(ProcessId(1))->children.empty());
  EXPECT_EQ(idsOf(tree.process(ProcessId(2))->children), (Ids{3}));
}

}  // namespace
}  // namespace lacuna::analyzer
