// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/data.h"
#include "lacuna/runtime/grad_scaler.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/nn_image.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/queue.h"
#include "lacuna/runtime/random.h"
#include "runtime/held.h"
#include "runtime/instrument/tool.h"

/// The contents of payloads.
namespace lacuna::rt {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

using Events = std::vector<tool::Event>;

/// The events of all threads while `body` runs, and until the queue has run it.
template <class Body>
Events eventsOf(const Body& body) {
  synchronize();
  const std::size_t before = tool::events().size();
  body();
  synchronize();
  const Events all = tool::events();
  return {all.begin() + static_cast<std::ptrdiff_t>(before), all.end()};
}

Events ofSchema(const Events& events, const char* schema) {
  Events some;
  for (const tool::Event& event : events) {
    if (event.payload == schema) some.push_back(event);
  }
  return some;
}
/// Those that the program called, not a backward.
Events operators(const Events& events, const std::string& name) {
  Events some;
  for (const tool::Event& event : ofSchema(events, LACUNA_RT_OPERATOR_SCHEMA)) {
    const bool inner = event.numbers.at("direction") == LACUNA_RT_DIRECTION_BACKWARD &&
                       !name.ends_with(".backward");
    if (event.message == name && !inner) some.push_back(event);
  }
  return some;
}
Events memory(const Events& events, LacunaRtMemoryAction action) {
  Events some;
  for (const tool::Event& event : ofSchema(events, LACUNA_RT_MEMORY_SCHEMA)) {
    if (event.numbers.at("action") == action) some.push_back(event);
  }
  return some;
}

auto number(const char* field, std::int64_t value) {
  return Field(&tool::Event::numbers, Contains(Pair(field, value)));
}
auto text(const char* field, const std::string& value) {
  return Field(&tool::Event::texts, Contains(Pair(field, value)));
}

/// A network of two layers, and a step of it.
struct Trained {
  nn::Sequential net;
  Tensor x = ones({2, 4});

  Trained() {
    net.add<nn::Linear>(4, 3).add<nn::Tanh>();
    net.nameTree("net");
  }
  void step() {
    optim::Sgd sgd(net.parameters(), {.rate = 0.1});
    sum(net(x)).backward();
    sgd.step();
  }
};

TEST(OperatorPayload, LinksForwardAndBackwardAndNamesTheModuleInBoth) {
  Trained trained;
  const Events events = eventsOf([&] { trained.step(); });
  for (const auto& [name, module] :
       {std::pair("linear", "net.0"), std::pair("tanh", "net.1"), std::pair("sum", "")}) {
    const Events forward = operators(events, name);
    ASSERT_THAT(forward, SizeIs(1)) << name;
    const std::int64_t sequence = forward[0].numbers.at("sequence");
    EXPECT_NE(sequence, 0);
    EXPECT_THAT(forward[0],
                AllOf(number("direction", LACUNA_RT_DIRECTION_FORWARD), text("module", module)));
    const Events backward = operators(events, std::string(name) + ".backward");
    ASSERT_THAT(backward, SizeIs(1)) << name;
    EXPECT_THAT(backward[0],
                AllOf(number("sequence", sequence),
                      number("direction", LACUNA_RT_DIRECTION_BACKWARD), text("module", module)));
  }
  const Events update = operators(events, "sgd");
  ASSERT_THAT(update, SizeIs(1));
  EXPECT_THAT(update[0],
              AllOf(number("sequence", 0), number("direction", LACUNA_RT_DIRECTION_OPTIMIZER)));
}

/// The messages of phases, and of marks with a double that value.
std::vector<std::string> phasesAndScales(const Events& events) {
  std::vector<std::string> all;
  for (const tool::Event& event : events) {
    if (event.category == "phase") all.push_back(event.message);
    if (event.payload == "double")
      all.push_back(event.message + " " + std::to_string(static_cast<int>(event.value)));
  }
  return all;
}

TEST(GradScalerEvents, NameTheFactorAndTheStepThatIsSkipped) {
  Trained trained;
  optim::Sgd sgd(trained.net.parameters(), {.rate = 0.1});
  optim::GradScaler scaler({.factor = 1024});
  const auto step = [&](double input) {
    trained.x = full({2, 4}, input);
    scaler.scale(sum(linear(trained.x, trained.net.parameters()[0]))).backward();
    (void)scaler.step(sgd);
    scaler.update();
    for (const Tensor& parameter : trained.net.parameters()) parameter.setGrad({});
  };
  const Events events = eventsOf([&] {
    step(1);
    step(1);
    step(INFINITY);
    step(1);
  });
  EXPECT_THAT(phasesAndScales(events),
              testing::ElementsAre("loss_scale 1024", "backward", "optimizer", "backward",
                                   "optimizer", "backward", "optimizer.skipped", "loss_scale 512",
                                   "backward", "optimizer"));
}

TEST(OperatorPayload, ListsTypesAndShapesOfInputs) {
  const Events events = eventsOf([] { (void)matmul(ones({2, 3}), ones({3, 5}, {DType::F32})); });
  ASSERT_THAT(operators(events, "matmul"), SizeIs(1));
  EXPECT_THAT(operators(events, "matmul")[0], text("shapes", "f32[2,3] f32[3,5]"));
}

TEST(ExecutionPayload, HasTheCorrelationOfItsOperatorAndCountsUp) {
  const Tensor x = ones({300, 300});
  Tensor y;
  const Events events = eventsOf([&] { y = matmul(x, x) + x; });
  const Events executions = ofSchema(events, LACUNA_RT_EXECUTION_SCHEMA);
  ASSERT_THAT(executions, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    const tool::Event op = operators(events, i == 0 ? "matmul" : "add").at(0);
    EXPECT_EQ(executions[i].message, op.message);
    EXPECT_THAT(executions[i], number("correlation", op.numbers.at("correlation")));
    EXPECT_NE(op.numbers.at("correlation"), 0);
    EXPECT_THAT(executions[i], number("kind", LACUNA_RT_EXECUTION_COMPUTE));
  }
  EXPECT_EQ(executions[1].numbers.at("sequence"), executions[0].numbers.at("sequence") + 1);
  EXPECT_THAT(executions[0], number("flops", 2 * 300 * 300 * 300));
  EXPECT_THAT(executions[1], number("bytes", 3 * 300 * 300 * 4));
}

TEST(ExecutionPayload, HasALaunchCallThatLastsAsLongAsItWaitedForRoom) {
  constexpr std::size_t kTasks = 3'000;  // the queue holds some thousand
  constexpr std::int64_t kLarge = 800;   // a product that takes far longer than filling the queue
  const Tensor large = ones({kLarge, kLarge});
  Tensor x = zeros({1 << 16});
  const Tensor one = ones({1 << 16});
  const Events executions = ofSchema(eventsOf([&] {
                                       const Tensor product = matmul(large, large);
                                       for (std::size_t i = 0; i < kTasks; ++i) x.add_(one);
                                     }),
                                     LACUNA_RT_EXECUTION_SCHEMA);
  ASSERT_THAT(executions, SizeIs(kTasks + 1));
  std::size_t waits = 0;
  std::int64_t leftNs = 0;
  for (const tool::Event& execution : executions) {
    const std::int64_t enteredNs = execution.numbers.at("enqueueStartNs");
    EXPECT_GE(enteredNs, leftNs) << "one call after the other";
    leftNs = execution.numbers.at("enqueueEndNs");
    EXPECT_LE(enteredNs, leftNs);
    if (leftNs > enteredNs) ++waits;
  }
  EXPECT_GT(waits, 0U);
  EXPECT_LT(waits, kTasks / 20) << "a wait makes room for many";
}

/// A step on each batch of a loader, from the making of the network on.
void trainFrom(const LoaderOptions& options) {
  nn::Sequential net;
  net.add<nn::Linear>(4, 3).add<nn::Tanh>();
  optim::Adam adam(net.parameters(), {});
  DataLoader loader(
      std::make_shared<TensorDataset>(std::vector<Tensor>{randn({12, 4}), rand({12, 3})}), options);
  for (Batch& batch : loader) {
    mseLoss(net(batch[0]), batch[1]).backward();
    adam.step();
    adam.zeroGrad();
  }
}

TEST(MemoryPayload, EveryAllocationNamesItsCaller) {
  reportOwnKnobs(false);  // another test looks at the first ones that the process reports
  std::set<std::string> askers;
  for (const bool pinned : {false, true}) {
    for (const auto& [kind, workers] :
         {std::pair(WorkerKind::Thread, 0), {WorkerKind::Thread, 2}, {WorkerKind::Process, 2}}) {
      LoaderOptions options;
      options.batch = 4;
      options.workers = static_cast<unsigned>(workers);
      options.kind = kind;
      options.pin = pinned;
      for (const tool::Event& event :
           memory(eventsOf([&] { trainFrom(options); }), LACUNA_RT_MEMORY_ALLOCATE)) {
        EXPECT_NE(event.texts.at("op"), "")
            << event.numbers.at("bytes") << " bytes, role " << event.numbers.at("role");
        askers.insert(event.texts.at("op"));
      }
    }
  }
  reportOwnKnobs(true);
  const Events own =
      memory(eventsOf([] { (void)std::pair(empty({99}), emptyHost({99}, DType::F32)); }),
             LACUNA_RT_MEMORY_ALLOCATE);
  for (const tool::Event& event : own) askers.insert(event.texts.at("op"));
  for (const char* asker :
       {"rand", "randn", "linear", "fill", "loader.fetch", "loader.wait", "empty", "empty_host"})
    EXPECT_THAT(askers, Contains(asker));
}

TEST(MemoryPayload, ShowsBytesRoleOperatorAndPlaceInTheQueue) {
  const Tensor x = ones({300, 300});
  Tensor y;
  const Events events = eventsOf([&] { y = sqrt(x); });
  const Events allocations = memory(events, LACUNA_RT_MEMORY_ALLOCATE);
  ASSERT_THAT(allocations, SizeIs(1));
  EXPECT_THAT(allocations[0],
              AllOf(number("address",
                           static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(y.data()))),
                    number("bytes", 300 * 300 * 4), number("role", LACUNA_RT_ROLE_ACTIVATION),
                    text("op", "sqrt"), text("tensor", ""), number("queue", 0)));
  const tool::Event execution = ofSchema(events, LACUNA_RT_EXECUTION_SCHEMA).at(0);
  EXPECT_EQ(allocations[0].numbers.at("sequence") + 1, execution.numbers.at("sequence"))
      << "valid for what comes after";

  const Events later = eventsOf([&] {
    const Tensor z = y * 2.0;
    y = {};
  });
  const Events frees = memory(later, LACUNA_RT_MEMORY_FREE);
  ASSERT_THAT(frees, SizeIs(2));
  EXPECT_THAT(frees[0], AllOf(number("address", allocations[0].numbers.at("address")),
                              number("bytes", 300 * 300 * 4),
                              number("sequence", execution.numbers.at("sequence") + 1)));
}

TEST(MemoryPayload, SeparatesRoles) {
  Trained trained;
  const Events events = eventsOf([&] { trained.step(); });
  const Events allocations = memory(events, LACUNA_RT_MEMORY_ALLOCATE);
  EXPECT_THAT(allocations,
              Contains(AllOf(text("op", "linear"), number("role", LACUNA_RT_ROLE_ACTIVATION))));
  for (const tool::Event& allocation : allocations) {
    const std::string& op = allocation.texts.at("op");
    const bool gradient = allocation.numbers.at("role") == LACUNA_RT_ROLE_GRADIENT;
    EXPECT_TRUE(gradient || !op.ends_with(".backward")) << op;
  }
  optim::Adam adam(trained.net.parameters(), {.rate = 0.1});
  const Events update = eventsOf([&] {
    sum(trained.net(trained.x)).backward();
    adam.step();
  });
  EXPECT_THAT(memory(update, LACUNA_RT_MEMORY_ALLOCATE),
              Contains(number("role", LACUNA_RT_ROLE_OPTIMIZER)));
  const Events host = eventsOf([] { (void)emptyHost({100}, DType::F32); });
  EXPECT_THAT(memory(host, LACUNA_RT_MEMORY_ALLOCATE).at(0), number("role", LACUNA_RT_ROLE_INPUT));
}

/// A library's scratch comes from the allocator, so it is an allocation and not external memory.
TEST(MemoryPayload, OfALibrarysScratchIsAWorkspaceOfTheOperator) {
  const Tensor weight = ones({32, 32, 3, 3}).setRequiresGrad();
  const Tensor x = ones({2, 32, 16, 16}).setRequiresGrad();
  const Events events = eventsOf([&] { sum(conv2d(x, weight, {}, {.padding = 1})).backward(); });
  const auto isWorkspace = number("role", LACUNA_RT_ROLE_WORKSPACE);
  EXPECT_THAT(memory(events, LACUNA_RT_MEMORY_ALLOCATE), Contains(isWorkspace));
  EXPECT_THAT(memory(events, LACUNA_RT_MEMORY_EXTERNAL_ALLOCATE), IsEmpty());
}

TEST(MemoryPayload, OfExternalMemoryNamesItsOwner) {
  char buffer[64];
  const Events events = eventsOf([&] {
    externalMemory(buffer, sizeof buffer, "gloo", true);
    externalMemory(buffer, sizeof buffer, "gloo", false);
  });
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(buffer));
  for (const auto action : {LACUNA_RT_MEMORY_EXTERNAL_ALLOCATE, LACUNA_RT_MEMORY_EXTERNAL_FREE}) {
    const Events found = memory(events, action);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0],
                AllOf(number("address", address), number("bytes", 64), text("op", "gloo")));
  }
}

TEST(MemoryPayload, IsNotReportedForMeta) {
  const Events events = eventsOf([] {
    const StepScope step(0);
    const Tensor x = ones({1 << 22}, {DType::F32, kMeta});
    Tensor y = x + x;
    y.setName("y").setRole(Role::Input);
    y = {};
    releaseCachedMemory(kMeta);
  });
  EXPECT_THAT(operators(events, "add"), SizeIs(1));
  EXPECT_THAT(ofSchema(events, LACUNA_RT_MEMORY_SCHEMA), IsEmpty());
}

/// The name of `tensor` in the last allocation at its address.
std::string reportedName(const Events& events, const Tensor& tensor) {
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data()));
  std::string name = "(none)";
  bool held = false;
  for (const tool::Event& event : ofSchema(events, LACUNA_RT_MEMORY_SCHEMA)) {
    const std::int64_t action = event.numbers.at("action");
    if (event.numbers.at("address") != address || action > LACUNA_RT_MEMORY_FREE) continue;
    const bool allocates = action == LACUNA_RT_MEMORY_ALLOCATE;
    EXPECT_NE(held, allocates) << "at one address memory is held, or not";
    held = allocates;
    if (allocates) name = event.texts.at("tensor");
  }
  return name;
}

TEST(MemoryPayload, OfParametersHasTheirPath) {
  std::unique_ptr<nn::Sequential> net;
  const Events events = eventsOf([&] {
    net = std::make_unique<nn::Sequential>();
    net->add<nn::Linear>(40, 30).add<nn::BatchNorm2d>(30).add<nn::Embedding>(5, 8);
    net->nameTree("net");
  });
  for (const auto& all : {net->namedParameters(), net->namedBuffers()}) {
    for (const auto& [name, tensor] : all) EXPECT_EQ(reportedName(events, tensor), "net." + name);
  }
  const Events again = eventsOf([&] { net->nameTree("net"); });
  EXPECT_THAT(ofSchema(again, LACUNA_RT_MEMORY_SCHEMA), IsEmpty()) << "that is no news";
}

TEST(MemoryPayload, OfATensorThatGetsARoleHasThatRole) {
  Tensor x;
  const Events events = eventsOf([&] {
    x = ones({100});
    x.setName("mask").setRole(Role::Input);
  });
  EXPECT_EQ(reportedName(events, x), "mask");
  EXPECT_THAT(
      memory(events, LACUNA_RT_MEMORY_ALLOCATE).back(),
      AllOf(number("role", LACUNA_RT_ROLE_INPUT), number("bytes", 400), text("op", "fill")));
  EXPECT_EQ(memoryStats().activeByRole[static_cast<std::size_t>(Role::Input)] >= 400, true);
}

/// Values of a knob that the process reported so far.
std::vector<std::string> reportedValues(const char* knob) {
  std::vector<std::string> values;
  for (const tool::Event& event : ofSchema(tool::events(), LACUNA_RT_KNOB_SCHEMA)) {
    if (event.texts.at("name") == knob) values.push_back(event.texts.at("value"));
  }
  return values;
}

void runALoader(std::size_t batch, unsigned workers, unsigned prefetch) {
  LoaderOptions options;
  options.batch = batch;
  options.workers = workers;
  options.prefetch = prefetch;
  DataLoader loader(std::make_shared<TensorDataset>(std::vector<Tensor>{zeros({12, 2})}), options);
  for ([[maybe_unused]] Batch& batch : loader) {
  }
}

/// A program that reports nothing itself. Reported values stay for the whole process.
TEST(OwnKnobs, AreReportedOnceWithTheirFirstValue) {
  reportOwnKnobs(false);
  runALoader(7, 1, 7);
  reportOwnKnobs(true);
  runALoader(3, 2, 5);
  runALoader(4, 0, 2);
  Trained trained;
  trained.step();
  trained.net.zeroGrad(false);
  trained.net.zeroGrad(true);
  { const AnomalyMode off(false); }
  { const AnomalyMode on; }
  const std::pair<const char*, const char*> kExpected[] = {
      {"loader.prefetch", "5"},  {"loader.processes", "off"}, {"loader.pin", "off"}, {"batch", "3"},
      {"optimizer.fused", "on"}, {"zero_grad", "zero"},       {"debug", "on"}};
  for (const auto& [knob, value] : kExpected)
    EXPECT_THAT(reportedValues(knob), testing::ElementsAre(value)) << knob;
  EXPECT_THAT(reportedValues("loader.workers"), SizeIs(1))
      << "the program's own, where it reported one before";
}

/// A tool keeps a registered text for good, so a program that registers one per event leaks.
TEST(Knobs, RegisterEachTextOnce) {
  const auto registrations = [](const char* text) {
    return std::ranges::count(tool::registeredTexts(), text);
  };
  for (int i = 0; i < 3; ++i) knob("a knob of this test", "its value");
  EXPECT_EQ(registrations("a knob of this test"), 1);
  EXPECT_EQ(registrations("its value"), 1);
  EXPECT_EQ(registrations(LACUNA_RT_MSG_KNOB), 1);
}

TEST(OwnKnobs, GiveWayToThoseOfTheProgram) {
  knob("loader.workers", "11");
  const std::size_t found = reportedValues("loader.workers").size();
  runALoader(1, 2, 2);
  EXPECT_THAT(reportedValues("loader.workers"), SizeIs(found));
  EXPECT_EQ(reportedValues("loader.workers").back(), "11");
}

TEST(Payloads, NameTheQueueOfEachOperatorExecutionAndAllocation) {
  const Events events = eventsOf([] {
    const QueueScope scope({kCpu, 2});
    (void)(ones({1000}) + 1.0);
    (void)sum(zeros({4})).item();
  });
  for (const char* schema :
       {LACUNA_RT_OPERATOR_SCHEMA, LACUNA_RT_EXECUTION_SCHEMA, LACUNA_RT_MEMORY_SCHEMA}) {
    const Events some = ofSchema(events, schema);
    EXPECT_FALSE(some.empty()) << schema;
    for (const tool::Event& event : some) EXPECT_THAT(event, number("queue", 512)) << event.message;
  }
  EXPECT_THAT(ofSchema(events, LACUNA_RT_SYNC_SCHEMA),
              Contains(testing::AllOf(Field(&tool::Event::message, "item"), number("queue", 512))));
  const auto announced =
      testing::AllOf(text("name", "cpu:0 queue 2"), number("queue", 512), number("device", 0),
                     number("deviceKind", LACUNA_RT_DEVICE_CPU));
  EXPECT_THAT(ofSchema(tool::events(), LACUNA_RT_QUEUE_SCHEMA), Contains(announced).Times(1));
}

TEST(Payloads, AQueueThatWaitsForAnotherNamesBoth) {
  const Events events = eventsOf([] {
    Held held({kCpu, 1});
    Tensor x;
    {
      const QueueScope scope({kCpu, 1});
      x = ones({400, 400});
    }
    (void)(x + 1.0);
    held.letGo();
  });
  Events waits;
  for (const tool::Event& event : ofSchema(events, LACUNA_RT_SYNC_SCHEMA)) {
    if (event.message == LACUNA_RT_MSG_QUEUE_WAIT) waits.push_back(event);
  }
  ASSERT_THAT(waits, SizeIs(1));
  EXPECT_THAT(waits[0], number("kind", LACUNA_RT_SYNC_WAIT));
  EXPECT_THAT(waits[0], number("queue", 0)) << "the one that waits";
  EXPECT_THAT(waits[0], number("other", 256));
  const Events executions = ofSchema(events, LACUNA_RT_EXECUTION_SCHEMA);
  EXPECT_THAT(executions,
              Contains(testing::AllOf(number("queue", 256),
                                      number("sequence", waits[0].numbers.at("sequence")))));
}

}  // namespace
}  // namespace lacuna::rt
