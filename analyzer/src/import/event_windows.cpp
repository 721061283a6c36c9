// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/event_windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "import/chrome/json_walker.h"
#include "import/importers.h"

namespace lacuna::analyzer {
namespace {

/// Bytes at the beginning of a file that are searched for signs of files that are no traces.
constexpr std::size_t kSearched = 4096;

/// Looks for the event list among the members of the top-level object, resuming where it stopped
/// for want of text.
class ListFinder {
 public:
  enum class State { NeedsMore, Found, NotJson };

  State search(std::string_view text) {
    if (at_ == 0 && text.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
    while (at_ < text.size()) {
      const char c = text[at_];
      if (inString_) {
        stringChar(text, c);
      } else if (c == '"') {
        inString_ = true;
        stringStart_ = at_ + 1;
      } else if (c == '{' || c == '[') {
        if (depth_ == 0) bareList_ = c == '[';
        ++depth_;
        if (c == '[' && (bareList_ || (depth_ == 2 && afterListKey_))) return ++at_, State::Found;
        afterListKey_ = false;
      } else if (c == '}' || c == ']') {
        if (--depth_ <= 0) return State::NotJson;
      } else if (depth_ == 0 && !std::isspace(static_cast<unsigned char>(c))) {
        return State::NotJson;
      } else if (c == ',') {
        afterListKey_ = false;
      }
      ++at_;
    }
    return State::NeedsMore;
  }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::size_t keyStart() const { return keyStart_; }
  [[nodiscard]] bool bareList() const { return bareList_; }

 private:
  void stringChar(std::string_view text, char c) {
    if (c == '\\') {
      ++at_;
    } else if (c == '"') {
      inString_ = false;
      if (depth_ == 1 && text.substr(stringStart_, at_ - stringStart_) == "traceEvents") {
        afterListKey_ = true;
        keyStart_ = stringStart_ - 1;
      }
    }
  }

  std::size_t at_ = 0;
  std::size_t stringStart_ = 0;
  std::size_t keyStart_ = 0;
  int depth_ = 0;
  bool inString_ = false;
  bool afterListKey_ = false;
  bool bareList_ = false;
};

}  // namespace

bool EventWindows::readMore(std::size_t bytes) {
  if (ended_) return false;
  if (carry_.size() < have_ + bytes + JsonWalker::kPadding)
    carry_.resize(have_ + bytes + JsonWalker::kPadding);
  const std::size_t got = source_->read(carry_.data() + have_, bytes);
  have_ += got;
  if (got < bytes) ended_ = true;
  return got > 0;
}

prof::Status EventWindows::findList() {
  ListFinder finder;
  std::size_t step = 1 << 16;
  for (;;) {
    const auto state = finder.search(unread());
    if (state == ListFinder::State::Found) break;
    if (unread().substr(0, kSearched).find("|execution_trace|") != std::string_view::npos) {
      return prof::Error{
          "it is an execution trace of PyTorch (ExecutionTraceObserver), which has no times; "
          "export_chrome_trace() of a torch.profiler that runs beside it writes one that does"};
    }
    if (state == ListFinder::State::NotJson || have_ > sizes_.mostBytes || !readMore(step)) {
      return prof::Error{
          fmt::format("no event list (\"traceEvents\": […]) up to byte {}", finder.at())};
    }
    step = std::min<std::size_t>(step * 2, sizes_.windowBytes);
  }
  bareList_ = finder.bareList();
  if (!bareList_) head_ = carry_.substr(0, finder.keyStart());
  if (head_.starts_with(kByteOrderMark)) head_.erase(0, kByteOrderMark.size());
  offset_ = finder.at();
  carry_.erase(0, finder.at());
  have_ -= finder.at();
  return {};
}

bool EventWindows::next(EventWindow& window) {
  if (lastGiven_) return false;
  std::size_t want = sizes_.windowBytes;
  std::size_t gapStart = 0;
  std::size_t cut = std::string::npos;
  for (;;) {
    if (have_ < want) readMore(want - have_);
    if (ended_) break;
    cut = lastEventStart(unread(), gapStart);
    if (cut != std::string::npos) break;
    if (want >= sizes_.mostBytes) {
      problem_ = fmt::format(
          "byte {}: what begins here goes on for more than {} bytes, longer than any event; "
          "reading stopped there",
          offset_, want);
      ended_ = true;
      break;
    }
    want = std::min(want * 2, sizes_.mostBytes);
  }
  lastGiven_ = ended_;
  window.last = ended_;
  window.number = number_++;
  window.share = source_->progress();
  window.offset = offset_;
  window.gap = std::move(gap_);
  window.size = ended_ ? have_ : gapStart;
  const std::string_view rest = ended_ ? std::string_view() : unread().substr(cut);
  if (!ended_) {
    gap_ = unread().substr(gapStart, cut - gapStart);
    offset_ += cut;
  }
  std::string& next = window.text;
  if (next.size() < rest.size() + JsonWalker::kPadding)
    next.resize(rest.size() + JsonWalker::kPadding);
  std::copy(rest.begin(), rest.end(), next.begin());
  have_ = rest.size();
  std::swap(carry_, window.text);
  if (window.text.size() < window.size + JsonWalker::kPadding)
    window.text.resize(window.size + JsonWalker::kPadding);
  std::fill_n(window.text.data() + window.size, JsonWalker::kPadding, ' ');
  return true;
}

}  // namespace lacuna::analyzer
