// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "standby/keeper.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/clock.h"
#include "core/guest.h"
#include "lacuna/prof/process.h"

namespace lacuna::collector::standby {
namespace {

namespace fs = std::filesystem;

/// Time between two signs of life while somebody waits.
constexpr std::int64_t kBeatNs = 1'000'000'000;
/// Time over which the length of a step is taken.
constexpr std::int64_t kPaceNs = 500'000'000;

fs::path recordingOf(const fs::path& output) {
  return output.string() + ".recording";
}

prof::Error cannotMake(const fs::path& job, const std::string& why) {
  return prof::Error{fmt::format(
      "{}: {}. Remedy: choose a folder that you may write with --standby.", job.string(), why)};
}

bool isOver(Rank::State state) {
  return state == Rank::State::Finished || state == Rank::State::Failed ||
         state == Rank::State::Missed;
}

}  // namespace

prof::Result<std::unique_ptr<Keeper>> Keeper::create(const RunOptions& options, const fs::path& job,
                                                     std::optional<SelfCost> cost) {
  std::error_code error;
  const fs::path folder = fs::absolute(job, error).lexically_normal();
  fs::create_directories(folder, error);
  if (error) return cannotMake(folder, error.message());
  std::string own = (fs::temp_directory_path(error) / "lacuna-standby-XXXXXX").string();
  if (error || mkdtemp(own.data()) == nullptr) {
    return prof::Error{
        fmt::format("cannot make {}: {}. Remedy: set TMPDIR to a folder that you may write.", own,
                    error ? error.message() : std::strerror(errno))};
  }
  auto page = StandbyFile::create(fs::path(own) / "page");
  if (!page) {
    fs::remove(own, error);
    return page.error();
  }
  // Its name leads to it however often it is replaced, also on a file system that other machines
  // serve.
  if (!fs::exists(folder / kRequestFile, error)) {
    if (auto status = write(folder, Request()); !status) return status.error();
  }
  return std::unique_ptr<Keeper>(
      new Keeper(options, fs::canonical(folder, error), own, *std::move(page), cost));
}

Keeper::Keeper(const RunOptions& options, fs::path job, fs::path folder, StandbyFile page,
               std::optional<SelfCost> cost)
    : options_(options),
      job_(std::move(job)),
      folder_(std::move(folder)),
      page_(std::move(page)),
      cost_(cost) {}

Keeper::~Keeper() {
  for (auto& [owner, kept] : kept_) {
    if (kept.capture) finishCapture(kept, Rank::State::Failed, "its keeper has ended");
    // The process that triggered reads it, and takes it away.
    if (!isWanted(kept)) removeRank(job_, kept.rank);
  }
  page_.reset();
  std::error_code error;
  fs::remove(folder_, error);
}

void Keeper::check() {
  request_ = readRequest(job_);
  for (StandbySlot& slot : (*page_)->slots) checkSlot(slot);
  forgetEnded();
  busy_ = std::ranges::any_of(kept_, [this](const auto& entry) {
    return isWanted(entry.second) && !isOver(entry.second.rank.state);
  });
}

void Keeper::checkSlot(StandbySlot& slot) {
  const std::uint64_t owner = slot.owner.load();
  if (owner == 0 || owner == StandbySlot::kTaken) return;
  const std::uint32_t pid = numberHere(owner);
  if (pid == 0) return processEnded(owner, slot);
  if (slot.step.load() == 0) return;  // it may be a launcher, which never has a step
  Kept& kept = known(owner, slot, pid);
  if (request_) take(*request_, kept, slot);
  follow(kept, slot);
  if (isWanted(kept) && !isOver(kept.rank.state) && nowNs() - kept.shownNs > kBeatNs) show(kept);
}

std::uint32_t Keeper::numberHere(std::uint64_t owner) {
  const prof::OwnNumber number{CaptureSlot::pidOf(owner), CaptureSlot::namespaceOf(owner), 0};
  if (!prof::isForeign(number)) return prof::processIsAlive(number.pid, 0) ? number.pid : 0;
  const auto found = numbers_.find(owner);
  if (found != numbers_.end()) return prof::processIsAlive(found->second, 0) ? found->second : 0;
  const std::uint32_t pid = prof::findProcess(number).pid;
  if (pid != 0) numbers_[owner] = pid;
  return pid;
}

Keeper::Kept& Keeper::known(std::uint64_t owner, const StandbySlot& slot, std::uint32_t pid) {
  const auto [at, fresh] = kept_.try_emplace(owner);
  Kept& kept = at->second;
  kept.rank.step = slot.step.load();
  takePace(kept);
  if (!fresh) return kept;
  kept.rank.rank = std::max(slot.rank.load(), 0);
  kept.rank.world = slot.world.load();
  kept.rank.keeper = ownAddress();
  kept.rank.process = kept.rank.keeper;
  kept.rank.process.pid = pid;
  show(kept);
  return kept;
}

void Keeper::takePace(Kept& kept) {
  const std::int64_t now = nowNs();
  const std::int64_t steps = kept.rank.step - kept.countedStep;
  if (kept.countedNs != 0 && (now - kept.countedNs < kPaceNs || steps <= 0)) return;
  if (kept.countedNs != 0) kept.rank.stepNs = (now - kept.countedNs) / steps;
  kept.countedNs = now;
  kept.countedStep = kept.rank.step;
}

void Keeper::processEnded(std::uint64_t owner, StandbySlot& slot) {
  numbers_.erase(owner);
  if (const auto found = kept_.find(owner); found != kept_.end()) {
    Kept& kept = found->second;
    kept.rank.step = slot.step.load();
    follow(kept, slot);  // it may have finished before
    kept.ended = true;
    const std::string why =
        fmt::format("{} ended at step {}", kept.rank.process.text(), kept.rank.step);
    if (kept.capture) finishCapture(kept, Rank::State::Failed, why);
    if (isWanted(kept) && !isOver(kept.rank.state)) answer(kept, Rank::State::Failed, why);
  }
  slot.enabled.store(0);
  slot.state.store(StandbyState::Waiting);
  slot.owner.store(0);
}

void Keeper::forgetEnded() {
  std::erase_if(kept_, [this](const auto& entry) {
    const Kept& kept = entry.second;
    if (!kept.ended || isWanted(kept)) return false;
    removeRank(job_, kept.rank);
    return true;
  });
}

bool Keeper::isWanted(const Kept& kept) const {
  return request_ && request_->phase != Request::Phase::None && request_->token == kept.rank.token;
}

void Keeper::take(const Request& request, Kept& kept, StandbySlot& slot) {
  const bool ours = request.token == kept.rank.token;
  switch (request.phase) {
    case Request::Phase::None:
      if (kept.rank.state == Rank::State::Ready) answer(kept, Rank::State::Standby);
      break;
    case Request::Phase::Ask:
      if (ours) break;
      if (kept.rank.token == request.instead) removeRecorded(kept);
      kept.rank.token = request.token;
      kept.rank.file.clear();
      if (kept.capture)
        return answer(kept, Rank::State::Failed, "it still records for an earlier lacuna trigger");
      answer(kept, Rank::State::Ready);
      break;
    case Request::Phase::Go:
      if (ours && kept.rank.state == Rank::State::Ready) arm(request, kept, slot);
      break;
    case Request::Phase::Stop:
      if (ours) stop(kept, slot);
      break;
  }
}

void Keeper::arm(const Request& request, Kept& kept, StandbySlot& slot) {
  if (auto status = prepare(request, kept); !status)
    return answer(kept, Rank::State::Failed, status.error().message);
  const std::string recording = recordingOf(kept.capture->output).string();
  if (recording.size() >= StandbySlot::kPathBytes) {
    discardCapture(kept);
    return answer(kept, Rank::State::Failed, fmt::format("the name of {} is too long", recording));
  }
  std::memcpy(slot.recording, recording.c_str(), recording.size() + 1);
  slot.from.store(request.from);
  slot.to.store(request.from + std::max<std::int64_t>(request.steps, 1));
  slot.state.store(StandbyState::Armed, std::memory_order_release);
  answer(kept, Rank::State::Armed);
}

prof::Status Keeper::prepare(const Request& request, Kept& kept) {
  Capture capture;
  capture.output = job_ / captureName(request.number, kept.rank.rank);
  const fs::path recording = recordingOf(capture.output);
  prof::RecordingOptions how;
  how.maxPoolBytes = options_.memoryLimit;
  how.poolBytes = std::min(how.poolBytes, how.maxPoolBytes);
  if (auto status = prof::createRecording(recording, how); !status) return status;
  auto drainer = prof::Drainer::create(recording, recording / prof::kUnnamedTrace);
  if (!drainer) {
    (void)prof::removeRecording(recording);
    return drainer.error();
  }
  capture.drainer = std::make_unique<prof::Drainer>(*std::move(drainer));
  capture.drainer->with([&](prof::Drainer::Access& trace) {
    prof::Writer& out = trace.writer();
    out.append(prof::Environment{.key = out.intern("trigger.step"),
                                 .value = out.intern(std::to_string(request.from))});
    if (cost_) appendSelfCost(*cost_, out);
  });
  kept.capture = std::move(capture);
  return {};
}

void Keeper::follow(Kept& kept, StandbySlot& slot) {
  const StandbyState state = slot.state.load(std::memory_order_acquire);
  if (!kept.capture || state == StandbyState::Armed || state == StandbyState::Waiting) return;
  if (state == StandbyState::Recording) {
    if (!kept.capture->begun) beginCapture(kept);
    return;
  }
  if (state == StandbyState::Done) {
    finishCapture(kept, Rank::State::Finished);
  } else {
    discardCapture(kept);
    const bool missed = state == StandbyState::Missed;
    answer(kept, missed ? Rank::State::Missed : Rank::State::Failed,
           missed ? ""
                  : fmt::format("it could not join the recording: {}",
                                std::strerror(slot.error.load())));
  }
  slot.state.store(StandbyState::Waiting);
}

void Keeper::beginCapture(Kept& kept) {
  kept.capture->begun = true;
  kept.capture->named =
      kept.capture->drainer->moveTo(kept.capture->output, prof::Existing::Keep).ok();
  kept.capture->drainer->start();
  answer(kept, Rank::State::Recording);
}

void Keeper::finishCapture(Kept& kept, Rank::State state, const std::string& reason) {
  Capture capture = *std::exchange(kept.capture, std::nullopt);
  const bool never = state == Rank::State::Failed && !capture.begun;
  if (never) {
    kept.capture = std::move(capture);
    discardCapture(kept);
    return answer(kept, state, reason);
  }
  auto status = capture.named ? prof::Status()
                              : capture.drainer->moveTo(capture.output, prof::Existing::Keep);
  if (const auto drained = capture.drainer->finish(); status && !drained) status = drained;
  if (!status) {
    return answer(kept, Rank::State::Failed,
                  fmt::format("{}. The recorded events are kept: lacuna recover {}",
                              status.error().message, recordingOf(capture.output).string()));
  }
  ++captures_;
  kept.rank.file = capture.output.string();
  answer(kept, state, reason);
}

void Keeper::discardCapture(Kept& kept) {
  const fs::path recording = recordingOf(kept.capture->output);
  kept.capture.reset();
  (void)prof::removeRecording(recording);
}

/// Another rank missed the steps that the file shows.
void Keeper::removeRecorded(const Kept& kept) {
  std::error_code error;
  if (kept.rank.file.empty() || !fs::remove(kept.rank.file, error)) return;
  --captures_;
}

void Keeper::stop(Kept& kept, StandbySlot& slot) {
  constexpr const char* kWhy = "it was stopped";
  StandbyState armed = StandbyState::Armed;
  if (kept.capture && slot.state.compare_exchange_strong(armed, StandbyState::Waiting)) {
    discardCapture(kept);
    return answer(kept, Rank::State::Failed, kWhy);
  }
  if (kept.capture) {
    slot.to.store(0);  // at the end of this step
  } else if (!isOver(kept.rank.state)) {
    answer(kept, Rank::State::Failed, kWhy);
  }
}

void Keeper::answer(Kept& kept, Rank::State state, const std::string& reason) {
  kept.rank.state = state;
  kept.rank.reason = reason;
  show(kept);
}

/// A failure here is tried again with the next sign of life.
void Keeper::show(Kept& kept) {
  kept.shownNs = nowNs();
  ++kept.rank.beats;
  (void)write(job_, kept.rank).ok();
}

}  // namespace lacuna::collector::standby
