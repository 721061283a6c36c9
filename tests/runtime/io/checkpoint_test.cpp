// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/checkpoint.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>

#include "lacuna/runtime/nn_image.h"
#include "lacuna/runtime/random.h"
#include "lacuna/runtime/schedule.h"

namespace lacuna::rt {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Net : public nn::Module {
 public:
  explicit Net(std::int64_t width = 6)
      : linear_(addModule("linear", std::make_shared<nn::Linear>(4, width))),
        norm_(addModule("norm", std::make_shared<nn::BatchNorm1d>(width))),
        head_(addModule("head", std::make_shared<nn::Linear>(width, 3))) {}
  [[nodiscard]] const char* kind() const override { return "Net"; }

 protected:
  Tensor forward(const Tensor& x) override { return (*head_)(relu((*norm_)((*linear_)(x)))); }

 private:
  std::shared_ptr<nn::Linear> linear_;
  std::shared_ptr<nn::BatchNorm1d> norm_;
  std::shared_ptr<nn::Linear> head_;
};

class Checkpoint : public testing::Test {
 protected:
  Checkpoint() {
    std::string folder = std::filesystem::temp_directory_path() / "lacuna-checkpoint-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    manualSeed(9);
    x_ = randn({8, 4});
  }
  ~Checkpoint() override { std::filesystem::remove_all(folder_); }

  double trainStep(Net& net, optim::Optimizer& optimizer) {
    const Tensor loss = mean(square(net(x_)));
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss.item();
  }

  std::filesystem::path folder_;
  Tensor x_;
};

TEST_F(Checkpoint, ARunGoesOnBitForBit) {
  Net net;
  optim::Adam adam(net.parameters(), {.rate = 0.01});
  for (int i = 0; i < 3; ++i) (void)trainStep(net, adam);
  adam.setRate(0.02);
  saveModule(folder_ / "net", net, {{"step", "3"}});
  saveOptimizer(folder_ / "adam", adam);
  const double fourth = trainStep(net, adam);
  const double fifth = trainStep(net, adam);

  Net again;
  optim::Adam resumed(again.parameters(), {.rate = 0.5});
  EXPECT_EQ(loadModule(folder_ / "net", again).at("step"), "3");
  loadOptimizer(folder_ / "adam", resumed);
  EXPECT_EQ(resumed.steps(), 3);
  EXPECT_EQ(resumed.rate(), 0.02);
  EXPECT_EQ(trainStep(again, resumed), fourth);
  EXPECT_EQ(trainStep(again, resumed), fifth);
}

TEST_F(Checkpoint, HoldsHowOftenEachParameterWasUpdated) {
  const auto parametersOf = [](const Net& net) {
    return std::vector<Tensor>{net.parameters()[0], net.parameters()[1]};
  };
  const Net net;
  optim::Adam adam(parametersOf(net), {});
  for (int i = 0; i < 3; ++i) {
    adam.parameters()[0].setGrad(ones({6, 4}));
    if (i == 2) adam.parameters()[1].setGrad(ones({6}));
    adam.step();
  }
  saveOptimizer(folder_ / "adam", adam);
  optim::Adam resumed(parametersOf(net), {});
  loadOptimizer(folder_ / "adam", resumed);
  EXPECT_EQ(resumed.updates(), (std::vector<std::int64_t>{3, 1}));

  // A file from before they were counted: what has state was updated by every step.
  LoadedTensors file = loadTensors(folder_ / "adam");
  file.metadata.erase("lacuna.updates");
  file.tensors.erase("1.first");
  file.tensors.erase("1.second");
  saveTensors(folder_ / "old", file.tensors, file.metadata);
  loadOptimizer(folder_ / "old", resumed);
  EXPECT_EQ(resumed.updates(), (std::vector<std::int64_t>{3, 0}));

  file.metadata["lacuna.updates"] = "3";
  saveTensors(folder_ / "wrong", file.tensors, file.metadata);
  EXPECT_THAT([&] { loadOptimizer(folder_ / "wrong", resumed); },
              ThrowsMessage<Error>(HasSubstr("1 counts of updates")));
  file.metadata["lacuna.updates"] = "3,";
  saveTensors(folder_ / "wrong", file.tensors, file.metadata);
  EXPECT_THAT([&] { loadOptimizer(folder_ / "wrong", resumed); },
              ThrowsMessage<Error>(HasSubstr("is no number")));
}

/// Trains on, bit for bit, with weights in f16, their masters and a scaler.
TEST_F(Checkpoint, MastersAndAScalerGoOnAsIfNothingHadBeen) {
  const auto step = [this](Net& net, optim::Optimizer& optimizer, optim::GradScaler& scaler) {
    scaler.scale(mean(square(net(x_.to(DType::F16)).to(DType::F32)))).backward();
    (void)scaler.step(optimizer);
    scaler.update();
    optimizer.zeroGrad();
  };
  const auto make = [](Net& net) {
    net.to(DType::F16);
    auto adam = std::make_unique<optim::AdamW>(net.parameters(), optim::AdamOptions{.rate = 1e-3});
    adam->keepMasters();
    return adam;
  };
  Net net;
  const auto adam = make(net);
  optim::GradScaler scaler({.factor = 256, .growthInterval = 4});
  for (int i = 0; i < 3; ++i) step(net, *adam, scaler);
  saveModule(folder_ / "net", net);
  saveOptimizer(folder_ / "adam", *adam, &scaler);
  Net again;
  const auto resumed = make(again);
  optim::GradScaler resumedScaler({.growthInterval = 4});
  loadOptimizer(folder_ / "adam", *resumed, &resumedScaler);
  (void)loadModule(folder_ / "net", again);  // in this order too
  EXPECT_EQ(resumedScaler.factor(), 256);
  for (int i = 0; i < 3; ++i) {
    step(net, *adam, scaler);
    step(again, *resumed, resumedScaler);
  }
  EXPECT_EQ(scaler.factor(), 512);
  EXPECT_EQ(resumedScaler.factor(), 512);
  for (const auto& [name, tensor] : stateOf(net)) {
    EXPECT_EQ(stateOf(again).at(name).detach().toVector<float>(), tensor.detach().toVector<float>())
        << name;
  }
}

TEST_F(Checkpoint, RefusesAFileWithoutTheScalerOrTheMastersThatAreWanted) {
  Net net;
  optim::Adam adam(net.parameters(), {});
  (void)trainStep(net, adam);
  saveOptimizer(folder_ / "plain", adam);
  optim::GradScaler scaler;
  EXPECT_THAT([&] { loadOptimizer(folder_ / "plain", adam, &scaler); },
              ThrowsMessage<Error>(HasSubstr("was saved without a scaler")));
  Net shorter;
  shorter.to(DType::BF16);
  optim::Adam withMasters(shorter.parameters(), {});
  withMasters.keepMasters();
  mean(square(shorter(x_.to(DType::BF16)))).backward();
  withMasters.step();
  saveOptimizer(folder_ / "masters", withMasters, &scaler);
  optim::Adam without(shorter.parameters(), {});
  EXPECT_THAT([&] { loadOptimizer(folder_ / "masters", without); },
              ThrowsMessage<Error>(HasSubstr("call keepMasters() first")));
  EXPECT_EQ(without.steps(), 0);
  LoadedTensors file = loadTensors(folder_ / "masters");
  for (const char* wrong : {"0", "-1", "inf", "nan"}) {
    file.metadata["lacuna.scale"] = wrong;
    saveTensors(folder_ / "wrong", file.tensors, file.metadata);
    EXPECT_THAT([&] { loadOptimizer(folder_ / "wrong", withMasters, &scaler); },
                ThrowsMessage<Error>(HasSubstr("makes no sense")));
  }
}

TEST_F(Checkpoint, AScheduleGoesOnWithoutDecayingTwice) {
  const Tensor p = ones({2}).setRequiresGrad();
  optim::Sgd sgd({p}, {.rate = 0.1});
  optim::Schedule schedule(sgd, optim::stepDecay(1, 0.5));
  for (int i = 0; i < 3; ++i) schedule.step();
  saveOptimizer(folder_ / "sgd", sgd);
  optim::Sgd resumed({p}, {.rate = 7});
  loadOptimizer(folder_ / "sgd", resumed);
  EXPECT_EQ(resumed.rate(), sgd.rate());
  optim::Schedule again(resumed, optim::stepDecay(1, 0.5));
  again.setSteps(3);
  EXPECT_EQ(resumed.rate(), sgd.rate());
}

/// One layer under two names.
class Tied : public nn::Module {
 public:
  Tied() {
    addModule("x", layer_);
    addModule("y", layer_);
  }
  [[nodiscard]] const char* kind() const override { return "Tied"; }

 protected:
  Tensor forward(const Tensor& x) override { return (*layer_)((*layer_)(x)); }

 private:
  std::shared_ptr<nn::Linear> layer_ = std::make_shared<nn::Linear>(1, 1, false);
};

TEST_F(Checkpoint, ASharedModuleHasItsParametersOnceAndItsNamesInTheFile) {
  Tied tied;
  ASSERT_EQ(tied.parameters().size(), 1u);
  EXPECT_EQ(tied.namedParameters()[0].name, "x.weight");
  EXPECT_TRUE(stateOf(tied).contains("y.weight"));
  saveModule(folder_ / "tied", tied);
  EXPECT_NO_THROW((void)loadModule(folder_ / "tied", tied));
}

/// Has no name for its second tensor that its first has not.
class Clash : public nn::Module {
 public:
  enum class Second : std::uint8_t { Parameter, Buffer, Module, OfModule };
  explicit Clash(Second second) {
    const auto layer = std::make_shared<nn::Linear>(1, 1, false);
    std::string name = "layer.weight";
    addParameter(name.c_str(), ones({1}));
    name = "overwritten";
    if (second == Second::Parameter) addParameter("layer.weight", ones({1}));
    if (second == Second::Buffer) addBuffer("layer.weight", ones({1}));
    addModule("layer", layer);
    if (second == Second::Module) addModule("layer", layer);
  }
  [[nodiscard]] const char* kind() const override { return "Clash"; }

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

TEST_F(Checkpoint, RefusesTwoTensorsOfOneName) {
  const auto refusal = [](Clash::Second second) {
    try {
      const Clash clash(second);
      (void)stateOf(clash);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("(accepted)");
  };
  EXPECT_THAT(refusal(Clash::Second::Parameter),
              HasSubstr("addParameter: the module has a parameter or a buffer"));
  EXPECT_THAT(refusal(Clash::Second::Buffer),
              HasSubstr("addBuffer: the module has a parameter or a buffer"));
  EXPECT_THAT(refusal(Clash::Second::Module),
              HasSubstr("addModule: the module has a submodule 'layer' already"));
  EXPECT_THAT(refusal(Clash::Second::OfModule),
              HasSubstr("two tensors of the network are called 'layer.weight'"));
}

TEST_F(Checkpoint, HoldsBuffersToo) {
  const Net net;
  EXPECT_TRUE(stateOf(net).contains("norm.running_mean"));
  EXPECT_TRUE(stateOf(net).contains("head.weight"));
}

TEST_F(Checkpoint, RefusesAnotherNetworkAndChangesNothing) {
  Net net;
  saveModule(folder_ / "net", Net(7));
  const auto before = stateOf(net).at("linear.weight").detach().toVector<float>();
  EXPECT_THAT([&] { (void)loadModule(folder_ / "net", net); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("'head.weight' is f32[3,7] in " + (folder_ / "net").string()),
                        HasSubstr(", and f32[3,6]"))));
  TensorMap state = stateOf(net);
  state.erase("linear.bias");
  EXPECT_THAT([&] { loadState(net, state); },
              ThrowsMessage<Error>(HasSubstr("has no 'linear.bias'")));
  state = stateOf(net);
  state["other"] = ones({1});
  EXPECT_THAT([&] { loadState(net, state); },
              ThrowsMessage<Error>(HasSubstr("the network has no 'other'")));
  EXPECT_EQ(stateOf(net).at("linear.weight").detach().toVector<float>(), before);
}

TEST_F(Checkpoint, RefusesTheStateOfAnotherOptimizer) {
  Net net;
  optim::Adam adam(net.parameters(), {});
  (void)trainStep(net, adam);
  saveOptimizer(folder_ / "adam", adam);
  optim::Sgd sgd(net.parameters(), {.momentum = 0.9});
  EXPECT_THAT([&] { loadOptimizer(folder_ / "adam", sgd); },
              ThrowsMessage<Error>(HasSubstr("is the state of 'adam', not of 'sgd'")));
  Net wider(7);
  optim::Adam other(wider.parameters(), {});
  EXPECT_THAT([&] { loadOptimizer(folder_ / "adam", other); },
              ThrowsMessage<Error>(HasSubstr("for a parameter f32")));
  EXPECT_EQ(other.steps(), 0);
  optim::Adam fewer({net.parameters()[0]}, {});
  EXPECT_THAT([&] { loadOptimizer(folder_ / "adam", fewer); },
              ThrowsMessage<Error>(HasSubstr("6 parameters, not of 1")));
  saveModule(folder_ / "net", net);
  EXPECT_THAT([&] { loadOptimizer(folder_ / "net", adam); },
              ThrowsMessage<Error>(HasSubstr("no optimizer's state")));
  EXPECT_THAT(
      [&] {
        adam.setState({{"9.first", ones({1})}}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("'9.first' belongs to none")));
  EXPECT_THAT(
      [&] {
        adam.setState({{"x", ones({1})}}, 1);
      },
      ThrowsMessage<Error>(HasSubstr("belongs to none")));
}

TEST_F(Checkpoint, RefusesADamagedFileAndChangesNothing) {
  Net net;
  optim::Adam adam(net.parameters(), {});
  (void)trainStep(net, adam);
  saveModule(folder_ / "net", net);
  saveOptimizer(folder_ / "adam", adam);
  (void)trainStep(net, adam);
  const auto weights = stateOf(net).at("linear.weight").detach().toVector<float>();
  const auto moments = [&] {
    std::map<std::string, std::vector<float>> all;
    for (const auto& [name, tensor] : adam.state()) {
      if (tensor.dtype() == DType::F32) all[name] = tensor.detach().toVector<float>();
    }
    return all;
  };
  const auto before = moments();
  ASSERT_FALSE(before.empty());
  for (const char* name : {"net", "adam"}) {
    const bool isNet = std::string_view(name) == "net";
    std::ifstream file(folder_ / name, std::ios::binary);
    const std::string full{std::istreambuf_iterator<char>(file), {}};
    const auto load = [&](const std::string& bytes) {
      std::ofstream(folder_ / "damaged", std::ios::binary | std::ios::trunc) << bytes;
      isNet ? (void)loadModule(folder_ / "damaged", net) : loadOptimizer(folder_ / "damaged", adam);
    };
    for (std::size_t length = 0; length < full.size(); length += 1 + full.size() / 97)
      EXPECT_THROW(load(full.substr(0, length)), Error) << name << " cut to " << length << " bytes";
    std::uint64_t header = 0;
    std::memcpy(&header, full.data(), sizeof header);
    for (std::size_t at = sizeof header + header; at < full.size(); at += 3) {
      std::string flipped = full;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x20);
      EXPECT_THROW(load(flipped), Error) << name << " with byte " << at << " changed";
    }
  }
  EXPECT_EQ(stateOf(net).at("linear.weight").detach().toVector<float>(), weights);
  EXPECT_EQ(moments(), before);
  EXPECT_EQ(adam.steps(), 2);
}

TEST_F(Checkpoint, RefusesADamagedFile) {
  Net net;
  saveModule(folder_ / "net", net);
  const auto size = std::filesystem::file_size(folder_ / "net");
  std::filesystem::resize_file(folder_ / "net", size - 5);
  EXPECT_THROW((void)loadModule(folder_ / "net", net), Error);
  std::ofstream(folder_ / "net") << "not a network";
  EXPECT_THROW((void)loadModule(folder_ / "net", net), Error);
}

}  // namespace
}  // namespace lacuna::rt
