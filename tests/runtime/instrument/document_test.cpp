// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/grad_scaler.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/queue.h"
#include "lacuna/runtime/static_graph.h"
#include "runtime/held.h"
#include "runtime/instrument/tool.h"

const bool tool::kTakesCompleteOperators = false;

/// docs/nvtx-schema.md describes what the runtime reports, no more and no less: the page's tables
/// next to what a tool hears.
namespace lacuna::rt {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

using Row = std::vector<std::string>;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// The body of the page's table whose first heading is `heading`.
std::vector<Row> tableOf(const std::string& heading) {
  std::ifstream page(LACUNA_NVTX_PAGE);
  std::vector<Row> rows;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| " + heading + " |")) {
      inside = true;
    } else if (inside && !line.starts_with("|")) {
      break;
    } else if (inside && !line.starts_with("|---")) {
      Row row;
      std::istringstream cells(line.substr(1));
      for (std::string cell; std::getline(cells, cell, '|');) row.push_back(trimmed(cell));
      rows.push_back(row);
    }
  }
  return rows;
}

/// The texts between backticks.
std::vector<std::string> quoted(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream parts(text);
  std::string part;
  for (bool inside = false; std::getline(parts, part, '`'); inside = !inside) {
    if (inside) all.push_back(part);
  }
  return all;
}

/// A step that is skipped for its infinite gradient.
void skipAStep(const std::vector<Tensor>& parameters) {
  optim::Sgd sgd(parameters, {.rate = 0.1});
  optim::GradScaler scaler;
  for (const Tensor& parameter : parameters) parameter.setGrad(full(parameter.shape(), INFINITY));
  (void)scaler.scale(ones({}));
  (void)scaler.step(sgd);
  scaler.update();
  for (const Tensor& parameter : parameters) parameter.setGrad({});
}

/// One of everything that the runtime can report.
void announceEverything() {
  nn::Sequential net;
  net.add<nn::Linear>(4, 4).add<nn::Relu>();
  net.nameTree("net");
  optim::Sgd sgd(net.parameters(), {.rate = 0.1});
  const std::uint32_t loader = registerLoader();
  knob("loader.workers", "4");
  for (std::uint64_t index = 0; index < 20; ++index) {
    const StepScope step(index, 2);
    {
      const PhaseScope load(Phase::Load);
      const PhaseScope evaluation(Phase::Evaluation);
      const PhaseScope checkpoint(Phase::Checkpoint);
      const LoaderScope wait(LoaderStage::Wait, loader, -1, index);
    }
    const PhaseScope forward(Phase::Forward);
    const Tensor loss = sum(net(ones({2, 4})));
    loss.backward();
    sgd.step();
    (void)loss.item();
  }
  for (const LoaderStage stage : {LoaderStage::Fetch, LoaderStage::Decode, LoaderStage::Augment,
                                  LoaderStage::Collate, LoaderStage::Put}) {
    const LoaderScope scope(stage, loader, 0, 0);
  }
  loaderQueueDepth(loader, 3);
  skipAStep(net.parameters());
  synchronize();
}

/// Iterations that follow a plan, leave it, and never repeat.
void planAndLeave() {
  planMemory(true);
  std::int64_t kilobytes = 4;
  const auto iterate = [&](std::int64_t size) {
    const StepScope step(0);
    const Tensor made = zeros({size << 10}, {DType::U8});
  };
  for (int i = 0; i < 4; ++i) iterate(kilobytes);
  for (int i = 0; i < 40; ++i) iterate(++kilobytes);
  planMemory(false);
  synchronize();
}

/// A static graph that is traced, replayed, and left for a changed mode.
void replayAndLeave() {
  nn::Sequential net;
  net.add<nn::Linear>(4, 4);
  StaticGraph graph;
  for (int run = 0; run < 6; ++run) {
    if (run == 4) net.eval();
    (void)graph.run({ones({2, 4})}, [&](const std::vector<Tensor>& in) {
      const NoGrad guard;
      return dropout(net(in[0]), 0.5, true);
    });
  }
  EXPECT_EQ(graph.stats().replays, 3U) << graph.stats().reason;
}

class NvtxPage : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    announceEverything();
    planAndLeave();
    replayAndLeave();
    // Enough that wait for the queue's depth to be sampled.
    Tensor busy = ones({1 << 16});
    for (int i = 0; i < 64; ++i) busy = busy + busy;
    Held held(Queue{});
    Event(Queue{}).block({kCpu, 1});
    held.letGo();
    synchronize();
  }
};

std::string formOf(const std::string& cell) {
  return cell == "push/pop" ? "push" : cell;
}

bool describes(const Row& row, const tool::Event& event) {
  if (formOf(row[1]) != event.form || row[2] != event.category) return false;
  if (row[3] == "none" ? !event.payload.empty() : event.payload.empty()) return false;
  const bool fixed = row[0].starts_with("`");
  const std::vector<std::string> names = quoted(row[0]);
  const bool open = row[0].ends_with("…");
  return !fixed || open || std::find(names.begin(), names.end(), event.message) != names.end();
}

/// "LacunaRtStep" of the page is "lacuna.rt.step" over NVTX.
std::string schemaOf(const std::string& type) {
  for (const Row& row : tableOf("payload")) {
    if (row[0] == "`" + type + "`") return quoted(row[1]).at(0);
  }
  return type == "none" ? "" : type == "double" ? type : "no payload " + type;
}

TEST_F(NvtxPage, DescribesEveryEventThatIsEmitted) {
  const std::vector<Row> rows = tableOf("event");
  ASSERT_GT(rows.size(), 8u);
  std::set<std::string> unknown;
  for (const tool::Event& event : tool::events()) {
    if (event.form == "pop") continue;
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
      return describes(row, event) && schemaOf(row[3]) == event.payload;
    });
    if (!known)
      unknown.insert(event.form + " " + event.message + " [" + event.category + "] " +
                     event.payload);
    EXPECT_TRUE(event.fits) << event.message;
  }
  EXPECT_THAT(unknown, ElementsAre());
}

TEST_F(NvtxPage, DescribesNothingThatIsNotEmitted) {
  const std::vector<tool::Event> events = tool::events();
  for (const Row& row : tableOf("event")) {
    if (row[1] == "counter") continue;
    EXPECT_TRUE(std::any_of(events.begin(), events.end(), [&](const auto& event) {
      return describes(row, event);
    })) << row[0];
    if (!row[0].starts_with("`")) continue;
    for (const std::string& name : quoted(row[0])) {
      EXPECT_TRUE(std::any_of(events.begin(), events.end(), [&](const auto& event) {
        return event.message == name && describes(row, event);
      })) << name;
    }
  }
}

TEST_F(NvtxPage, NamesTheDomain) {
  EXPECT_THAT(tool::domains(), ElementsAre("lacuna.rt"));
  std::ifstream page(LACUNA_NVTX_PAGE);
  std::stringstream text;
  text << page.rdbuf();
  EXPECT_THAT(text.str(), testing::HasSubstr("- Domain: `lacuna.rt`."));
}

TEST_F(NvtxPage, NamesEveryCategory) {
  std::set<std::string> ofPage;
  for (const Row& row : tableOf("event")) {
    if (!row[2].empty()) ofPage.insert(row[2]);
  }
  std::set<std::string> named;
  for (const auto& [number, name] : tool::categories()) {
    if (number != 0) named.insert(name);
  }
  EXPECT_EQ(ofPage, named);
}

TEST_F(NvtxPage, ListsThePayloadsWithTheirFieldsInOrder) {
  std::vector<std::string> ofPage;
  for (const Row& row : tableOf("payload")) {
    std::string line = quoted(row[1]).at(0) + " " + row[2] + ":";
    for (const std::string& field : quoted(row[3])) line += " " + field;
    ofPage.push_back(line);
  }
  std::vector<std::string> registered;
  for (const tool::Schema& schema : tool::schemas()) {
    std::ostringstream line;
    line << schema.name << " 0x" << std::hex << schema.id << ":";
    for (const tool::Field& field : schema.fields) line << " " << field.name;
    registered.push_back(line.str());
  }
  EXPECT_THAT(ofPage, UnorderedElementsAreArray(registered));
}

TEST_F(NvtxPage, ListsTheCounters) {
  const std::vector<std::string> sampled = tool::sampledCounters();
  std::set<std::string> ofPage;
  for (const Row& row : tableOf("event")) {
    if (row[1] != "counter") continue;
    ofPage.insert(quoted(row[0]).at(0));
    EXPECT_THAT(sampled, Contains(quoted(row[0]).at(0)));
  }
  const std::vector<std::string> registered = tool::registeredCounters();
  EXPECT_EQ(ofPage, std::set<std::string>(registered.begin(), registered.end()));
}

TEST_F(NvtxPage, RangesThatBeginEnd) {
  std::int64_t open = 0;
  for (const tool::Event& event : tool::events())
    open += event.form == "push" ? 1 : event.form == "pop" ? -1 : 0;
  EXPECT_EQ(open, 0);
}

}  // namespace
}  // namespace lacuna::rt
