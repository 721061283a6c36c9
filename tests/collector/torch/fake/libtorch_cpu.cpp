// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// A stand-in for PyTorch's core: observers of operators and the allocator's reports, under PyTorch's own names and with
// its conventions, as far as somebody who is built without its headers can see them.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#define FAKE_API __attribute__((visibility("default")))

namespace at {

enum class RecordScope : std::uint8_t { FUNCTION = 0, BACKWARD_FUNCTION, USER_SCOPE = 7, NUM_SCOPES = 10 };

struct ObserverContext {
  virtual ~ObserverContext() = default;
};

class FAKE_API RecordFunction {
 public:
  RecordFunction(const char* name, std::int64_t sequence) : name_(name), sequence_(sequence) {}
  const char* name() const;

 private:
  bool called_ = true;
  std::array<std::int64_t, 12> other_{};
  std::string name_;
  std::int64_t sequence_;
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
  if (callback.sampling_prob_ != 1.0 || callback.needs_inputs_ || callback.needs_outputs_) return 0;
  callbacks.push_back(callback);
  return callbacks.size();
}

}  // namespace at

namespace {
std::vector<std::unique_ptr<at::RecordFunction>> running;
std::vector<int> scopes;

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
FAKE_API void fakeBegin(const char* name, int scope, std::int64_t sequence) {
  running.push_back(std::make_unique<at::RecordFunction>(name, sequence));
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
