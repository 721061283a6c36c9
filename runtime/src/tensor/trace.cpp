// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor/trace.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "alloc/allocator.h"
#include "tensor/node.h"
#include "tensor/trace_index.h"

namespace lacuna::rt::graph {

thread_local constinit Trace* tTrace = nullptr;

std::uint64_t serialOf(const Storage& storage) {
  return storage.block != nullptr ? storage.block->serial : 0;
}

bool Trace::Leaf::isFirst(const Storage& storage) const {
  return hadGradient && &storage == first && serialOf(storage) == serial;
}

namespace {

constexpr std::size_t kChunk = std::size_t{16} << 10;
std::atomic<std::uint64_t> gSettings{0};

Tensor overMemoryOf(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  auto* storage = new Storage;
  auto owner = Ref<Storage>::adopt(storage);
  storage->data = impl.storage->data;
  storage->bytes = impl.storage->bytes;
  storage->device = impl.storage->device;
  storage->role = impl.storage->role;
  storage->writer = 0;
  storage->users.store(CpuQueue::instance().bit(), std::memory_order_relaxed);
  return makeView(owner, impl.shape, impl.strides, impl.offset, impl.dtype);
}

/// While it lives, the thread does not trace.
class Pause {
 public:
  explicit Pause(int index)
      : index_(index),
        trace_(std::exchange(tTrace, nullptr)),
        recorder_(std::exchange(tRecorder, nullptr)) {
    CpuQueue::chooseAsIs(0);
  }
  ~Pause() {
    CpuQueue::chooseAsIs(index_);
    tTrace = trace_;
    tRecorder = recorder_;
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  int index_;
  Trace* trace_;
  LaunchRecorder* recorder_;
};

}  // namespace

std::string Likeness::differenceFrom(const Likeness& before) const {
  const std::size_t both = std::min(launches.size(), before.launches.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (launches[i] == before.launches[i]) continue;
    return "launch " + std::to_string(i + 1) + " is " + launches[i].name->text +
           ", and was another " + before.launches[i].name->text +
           " in the run before; give run() a key for what decides it";
  }
  if (launches.size() != before.launches.size() || hostActions != before.hostActions) {
    return "the run launched " + std::to_string(launches.size()) + " operators, the one before " +
           std::to_string(before.launches.size()) + "; give run() a key for what decides it";
  }
  const std::size_t same = std::min(outside.size(), before.outside.size());
  for (std::size_t i = 0; i < same; ++i) {
    const Used &now = outside[i], &then = before.outside[i];
    if (now.storage == then.storage && now.serial == then.serial && !now.comesAndGoes) continue;
    return "it uses another tensor of " + std::to_string(now.bytes) +
           " bytes in each run; give it to run() as an input";
  }
  return outside.size() == before.outside.size() ? "" : "it uses other tensors in each run";
}

/// The time in which the thread traces.
class Trace::Recording {
 public:
  explicit Recording(Trace& trace) : trace_(trace) {
    CpuQueue::instance().drain();  // what was freed serves the trace, too
    trace_.random_ = randomState();
    CpuQueue::lendIndex(trace_.index_);
    CpuQueue::instance().traceBegins();
    CpuQueue::chooseAsIs(trace_.index_);
    tTrace = &trace_;
    tRecorder = &trace_;
  }
  ~Recording() {
    tRecorder = nullptr;
    tTrace = nullptr;
    CpuQueue::chooseAsIs(0);
    CpuQueue::instance().traceEnds();
    trace_.last_ = CpuQueue::instance().enqueued();
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  Trace& trace_;
};

Trace::Trace() : index_(takeTraceIndex()) {
  if (index_ < 0) fault_ = "the process holds as many traces as it can";
}

Trace::~Trace() {
  CpuQueue& queue = CpuQueue::instance();
  if (last_ > queue.completed()) queue.waitFor(last_);
  for (const Ending& ending : endings_) ending.end(ending.task);
  for (const Ref<Storage>& storage : survivors_) settle(*storage);
  leaves_.clear();
  results_.clear();
  survivors_.clear();
  outsides_.clear();
  if (index_ >= 0) giveTraceIndexBack(index_);
}

std::vector<Tensor> Trace::record(const std::vector<Tensor>& inputs, const Body& body) {
  for (const Tensor& input : inputs) addInput(input);
  pending_.assign(inputs.size(), false);
  unmovable_.assign(inputs.size(), false);
  std::vector<Tensor> results;
  try {
    const Recording recording(*this);
    results = body(inputs);
  } catch (...) {
    settleLeaves();
    findSurvivors();
    throw;
  }
  finish(results);
  return copiesOfResults();
}

void Trace::addInput(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  if (inputOf(*impl.storage) != nullptr) leave("two inputs have the same memory");
  std::int64_t last = 0;
  for (int d = 0; d < impl.shape.rank(); ++d)
    last += std::max<std::int64_t>(impl.shape[d] - 1, 0) * impl.strides[d];
  const auto begin = reinterpret_cast<std::uintptr_t>(dataOf(impl));
  inputs_.push_back({impl.storage.get(), begin,
                     begin + static_cast<std::uintptr_t>(last + 1) * itemSize(impl.dtype)});
}

void* Trace::memoryFor(std::size_t bytes, std::size_t alignment) {
  used_ = (used_ + alignment - 1) / alignment * alignment;
  if (used_ + bytes > size_) {
    size_ = std::max(kChunk, bytes + alignment);
    chunks_.push_back(std::make_unique<std::byte[]>(size_));
    const auto at = reinterpret_cast<std::uintptr_t>(chunks_.back().get());
    used_ = (alignment - at % alignment) % alignment;
  }
  void* memory = chunks_.back().get() + used_;
  used_ += bytes;
  return memory;
}

const KeptLaunch& Trace::keep(const KeptLaunch& launch, std::size_t bytes, bool flat,
                              void (*end)(void*)) {
  if (!flat) endings_.push_back({end, launch.task});
  relocate(launch.task, bytes, flat);
  if (steps_.empty() || steps_.back().kind != Kind::Launches)
    steps_.push_back({Kind::Launches, launches_.size(), launches_.size()});
  ++steps_.back().to;
  return launches_.emplace_back(launch);
}

// A task is one piece of memory, so an address in it is a word. No size, stride or number that a
// task holds looks like an address within an input.
void Trace::relocate(void* task, std::size_t bytes, bool flat) {
  auto* words = static_cast<std::uintptr_t*>(task);
  for (std::size_t i = 0; i < bytes / sizeof *words; ++i) {
    for (std::size_t input = 0; input < inputs_.size(); ++input) {
      const Input& held = inputs_[input];
      const auto memory = reinterpret_cast<std::uintptr_t>(held.storage->data);
      if (words[i] < memory || words[i] >= memory + std::max<std::size_t>(held.storage->bytes, 1))
        continue;
      if (words[i] < held.begin || words[i] >= held.end)
        leave("it uses the tensor that an input is a part of");
      relocations_.push_back(
          {words + i, input, static_cast<std::ptrdiff_t>(words[i] - held.begin)});
      pending_[input] = false;
    }
  }
  for (std::size_t input = 0; !flat && input < inputs_.size(); ++input) {
    if (pending_[input]) unmovable_[input] = true;
  }
}

void Trace::leave(const std::string& why) {
  if (fault_.empty()) fault_ = why;
}

Trace::Input* Trace::inputOf(const Storage& storage) {
  const auto found = std::find_if(inputs_.begin(), inputs_.end(),
                                  [&](const Input& input) { return input.storage == &storage; });
  return found == inputs_.end() ? nullptr : &*found;
}

Trace::Outside& Trace::outside(Storage& storage) {
  const auto [found, fresh] = numbers_.try_emplace(&storage, outsides_.size());
  if (fresh) {
    const Block* block = storage.block;
    const bool comesAndGoes = block != nullptr && block->staging != nullptr;
    outsides_.push_back({&storage,
                         Ref<Storage>::share(&storage),
                         {&storage, serialOf(storage), storage.bytes, comesAndGoes}});
  }
  return outsides_[found->second];
}

void Trace::noteRead(Storage& storage) {
  if (const Input* input = inputOf(storage)) {
    pending_[static_cast<std::size_t>(input - inputs_.data())] = true;
  } else {
    outside(storage);
  }
}

void Trace::noteWrite(Storage& storage) {
  if (Input* input = inputOf(storage)) {
    input->written = true;
  } else {
    outside(storage).written = true;
  }
}

void Trace::noteLeaf(const Tensor& leaf) {
  const auto known = std::any_of(leaves_.begin(), leaves_.end(),
                                 [&](const Leaf& held) { return held.impl.get() == leaf.impl(); });
  if (known) return;
  Leaf held;
  held.impl = Ref<TensorImpl>::share(leaf.impl());
  if (const Tensor gradient = leaf.grad(); gradient.defined()) {
    held.hadGradient = true;
    held.first = gradient.impl()->storage.get();
    held.serial = serialOf(*held.first);
  }
  leaves_.push_back(std::move(held));
}

bool Trace::holdsWith(const Tensor& tensor) const {
  const TensorImpl& impl = *tensor.impl();
  return impl.useCount() == 1 && impl.storage->useCount() == 2 &&
         numbers_.contains(impl.storage.get());
}

void Trace::notePhase(std::optional<Phase> begun) {
  steps_.push_back(
      {begun ? Kind::PhaseBegin : Kind::PhaseEnd, begun ? static_cast<std::size_t>(*begun) : 0, 0});
}

DrawPlace Trace::placeOf(RandomState draw) {
  if (draw.seed != random_.seed || draw.draws < random_.draws) {
    leave("it sets the state of the random numbers; do that outside");
    return {draw};
  }
  return {{draw.seed, draw.draws - random_.draws}, &random_};
}

void Trace::expect(const char* otherwise, std::function<bool()> holds) {
  expectations_.push_back({otherwise, std::move(holds)});
}

bool Trace::isOwn(const Storage& storage) const {
  return (storage.users.load(std::memory_order_relaxed) & (QueueMask{1} << index_)) != 0;
}

Tensor Trace::aliasOf(const Tensor& tensor) {
  Storage& storage = *tensor.impl()->storage;
  if (inputOf(storage) != nullptr) leave("the host's work in it uses an input");
  if (!isOwn(storage)) outside(storage).written = true;
  return overMemoryOf(tensor);
}

void Trace::runOnHost(const std::vector<Tensor>& leaves, std::function<void()> action) {
  Host& host = hosts_.emplace_back();
  host.action = std::move(action);
  std::vector<Tensor> own;
  for (const Tensor& leaf : leaves) {
    noteLeaf(leaf);
    const Tensor gradient = leaf.grad();
    own.push_back(gradient);
    host.gradients.emplace_back(Ref<TensorImpl>::share(leaf.impl()),
                                gradient.defined() ? aliasOf(gradient) : Tensor());
  }
  {
    const Pause pause(index_);
    runHost(host);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      Tensor& gradient = leaves[i].impl()->meta().grad;
      if (gradient.impl() == host.gradients[i].second.impl()) gradient = own[i];
    }
  }
  steps_.push_back({Kind::Host, hosts_.size() - 1, 0});
}

void Trace::runHost(const Host& host) {
  for (const auto& [leaf, gradient] : host.gradients) leaf->meta().grad = gradient;
  host.action();
}

// The results' history goes first, with all that it holds.
void Trace::finish(std::vector<Tensor>& results) {
  for (Tensor& result : results) {
    if (!result.defined()) {
      leave("a result is not defined");
      continue;
    }
    if (inputOf(*result.impl()->storage) != nullptr) leave("a result is an input itself");
    results_.push_back(result.detach());
  }
  results.clear();
  const RandomState now = randomState();
  if (now.seed != random_.seed || now.draws < random_.draws) {
    leave("it sets the state of the random numbers; do that outside");
  } else {
    drawn_ = now.draws - random_.draws;
  }
  settleLeaves();
  findSurvivors();
}

void Trace::settleLeaves() {
  std::erase_if(leaves_, [](const Leaf& leaf) { return leaf.impl->useCount() == 1; });
  for (Leaf& leaf : leaves_) {
    const Tensor& gradient = leaf.impl->meta().grad;
    leaf.stays = gradient.defined() && leaf.isFirst(*gradient.impl()->storage);
    if (!leaf.stays) leaf.last = gradient;
    const auto used = numbers_.find(leaf.first);
    leaf.isUsed = used != numbers_.end() && leaf.isFirst(*outsides_[used->second].storage);
    if (leaf.isUsed) outsides_[used->second].hold.reset();
  }
}

void Trace::findSurvivors() {
  std::vector<const Block*> known;
  const auto keepSurvivor = [&](const Tensor& tensor) {
    if (!tensor.defined() || !isOwn(*tensor.impl()->storage)) return;
    known.push_back(tensor.impl()->storage->block);
    survivors_.push_back(tensor.impl()->storage);
  };
  for (const Tensor& result : results_) keepSurvivor(result);
  for (const Leaf& leaf : leaves_) keepSurvivor(leaf.last);
  for (const Ref<Storage>& storage : survivors_) settle(*storage);
  for (const Block* block : allocatorOf(kCpu).liveUnder(static_cast<std::uint8_t>(index_))) {
    if (std::find(known.begin(), known.end(), block) != known.end()) continue;
    keepTraceIndex(index_);
    return leave("a tensor of " + std::to_string(block->requested) + " bytes, made by " +
                 block->op + ", outlives the run; return it, and use the copy");
  }
}

void Trace::settle(Storage& storage) {
  const QueueMask own = QueueMask{1} << index_;
  const QueueMask users = storage.users.load(std::memory_order_relaxed);
  storage.users.store((users & ~own) | CpuQueue::instance().bit(), std::memory_order_release);
  if (storage.writer == index_) storage.writer = 0;
}

Likeness Trace::likeness() const {
  Likeness out;
  for (const KeptLaunch& launch : launches_)
    out.launches.push_back({launch.name, launch.run, launch.work.bytes, launch.work.flops});
  for (const Outside& held : outsides_) out.outside.push_back(held.seen);
  out.hostActions = hosts_.size();
  return out;
}

void leave(const char* why) {
  if (tTrace != nullptr) [[unlikely]]
    tTrace->leave(why);
}

void noteLeaf(const Tensor& leaf) {
  if (tTrace != nullptr) [[unlikely]]
    tTrace->noteLeaf(leaf);
}

bool ownedAlone(const Tensor& tensor) {
  return tTrace != nullptr && tTrace->holdsWith(tensor);
}

void onHost(const std::vector<Tensor>& leaves, std::function<void()> action) {
  if (tTrace == nullptr) return action();
  tTrace->runOnHost(leaves, std::move(action));
}

void expect(const char* otherwise, std::function<bool()> holds) {
  if (tTrace != nullptr) tTrace->expect(otherwise, std::move(holds));
}

Tensor alias(const Tensor& tensor) {
  return tTrace == nullptr ? tensor : tTrace->aliasOf(tensor);
}

void noteSetting() {
  gSettings.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t settings() {
  return gSettings.load(std::memory_order_relaxed);
}

}  // namespace lacuna::rt::graph
