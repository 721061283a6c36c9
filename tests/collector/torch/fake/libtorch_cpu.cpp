// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// A stand-in for PyTorch's core: observers of operators and the allocator's reports. It has
// PyTorch's own names and conventions, as far as code that is built without PyTorch's headers can
// see them.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#define FAKE_API __attribute__((visibility("default")))

namespace at {

enum class RecordScope : std::uint8_t {
  FUNCTION = 0,
  BACKWARD_FUNCTION,
  USER_SCOPE = 7,
  NUM_SCOPES = 10
};

struct ObserverContext {
  virtual ~ObserverContext() = default;
};

struct Value {
  std::uint64_t content;
  std::uint32_t tag;
};
enum Tag : std::uint32_t { Tensor = 1, Number = 5, List = 14 };

class FAKE_API RecordFunction {
 public:
  RecordFunction(const char* name, std::int64_t sequence, const std::vector<Value>& inputs)
      : name_(name), sequence_(sequence), inputs_(inputs.data()), inputCount_(inputs.size()) {}
  const char* name() const;

 private:
  bool called_ = true;
  std::array<std::int64_t, 12> other_{};
  std::string name_;
  std::int64_t sequence_;
  const Value* inputs_;
  std::size_t inputCount_;
  std::array<std::int64_t, 24> more_{};
};
const char* RecordFunction::name() const {
  return called_ && other_[0] == 0 && more_[0] == 0 && sequence_ > -2 ? name_.c_str() : "";
}

class RecordFunctionCallback {
 public:
  using StartCallback = std::unique_ptr<ObserverContext> (*)(const RecordFunction&);
  using EndCallback = void (*)(const RecordFunction&, ObserverContext*);
  StartCallback start_;
  EndCallback end_;
  double sampling_prob_ = 1.0;
  std::array<bool, static_cast<std::size_t>(RecordScope::NUM_SCOPES)> scopes_ = {};
  bool needs_inputs_ = false;
  bool needs_outputs_ = false;
  bool needs_ids_ = false;
};

static std::vector<RecordFunctionCallback> callbacks;
FAKE_API std::uint64_t addGlobalCallback(RecordFunctionCallback callback) {
  if (callback.sampling_prob_ != 1.0 || callback.needs_outputs_) return 0;
  callbacks.push_back(callback);
  return callbacks.size();
}
FAKE_API void removeCallback(std::uint64_t handle) {
  callbacks[handle - 1].scopes_ = {};  // is never called again
}

}  // namespace at

namespace {
std::vector<std::unique_ptr<at::RecordFunction>> running;
std::vector<int> scopes;
std::vector<at::Value> nextInputs;  // of the next operator
std::deque<std::array<std::int64_t, 32>> objects;

at::Value valueOf(const void* tensor) {
  return {reinterpret_cast<std::uint64_t>(tensor), at::Tensor};
}

template <class Visit>
void forScope(int scope, Visit&& visit) {
  for (const auto& callback : at::callbacks) {
    if (callback.scopes_[static_cast<std::size_t>(scope)]) visit(callback);
  }
}
}  // namespace

/// PyTorch makes a record of an operator for its observers, which takes some time.
static void makeRecord() {
  std::atomic<int> work{0};
  while (work.fetch_add(1) < 500) {
  }
}

extern "C" {
/// A tensor's object: reference counts and others, the number of dimensions, room for sizes and
/// strides, an offset, the number of values, the type.
FAKE_API const void* fakeTensor(const std::int64_t* shape, std::size_t dims, std::int64_t type) {
  auto& words = objects.emplace_back();
  words[7] = static_cast<std::int64_t>(dims);
  std::copy_n(shape, dims, words.begin() + 8);
  words[19] = 1;
  for (std::size_t i = 0; i < dims; ++i) words[19] *= shape[i];
  words[20] = type;
  return words.data();
}
FAKE_API void fakeInputTensor(const void* tensor) {
  nextInputs.push_back(valueOf(tensor));
}
FAKE_API void fakeInputNumber(std::int64_t number) {
  nextInputs.push_back({static_cast<std::uint64_t>(number), at::Number});
}
/// A list of two tensors, which lives as long as the program.
FAKE_API void fakeInputList(const void* first, const void* second) {
  const auto& values = *new std::array{valueOf(first), valueOf(second)};
  auto& words = objects.emplace_back();
  words[3] = reinterpret_cast<std::int64_t>(values.data());
  words[4] = reinterpret_cast<std::int64_t>(values.data() + values.size());
  nextInputs.push_back({reinterpret_cast<std::uint64_t>(words.data()), at::List});
}
FAKE_API void fakeBegin(const char* name, int scope, std::int64_t sequence) {
  const bool asked = std::ranges::any_of(
      at::callbacks, [](const auto& callback) { return callback.needs_inputs_; });
  const auto& inputs = *new std::vector(asked ? std::move(nextInputs) : std::vector<at::Value>());
  nextInputs.clear();
  running.push_back(std::make_unique<at::RecordFunction>(name, sequence, inputs));
  scopes.push_back(scope);
  forScope(scope, [](const auto& callback) {
    makeRecord();
    (void)callback.start_(*running.back());
  });
}
FAKE_API void fakeEnd() {
  forScope(scopes.back(), [](const auto& callback) { callback.end_(*running.back(), nullptr); });
  running.pop_back();
  scopes.pop_back();
}
}
