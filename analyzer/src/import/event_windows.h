// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "import/byte_source.h"

namespace lacuna::analyzer {

/// A piece of a trace's event list that (it seems) starts and ends between events.
struct EventWindow {
  std::string gap;   ///< what stood between the piece before and this one
  std::string text;  ///< at least kPadding bytes longer than `size`
  std::size_t size = 0;
  std::uint64_t offset = 0;  ///< of the first byte, in the decompressed file
  std::uint64_t number = 0;
  bool last = false;
  double share = 0;  ///< of the file that is read with this piece

  [[nodiscard]] std::string_view view() const { return {text.data(), size}; }
};

/// The part of a trace's event list that is read at a time.
struct WindowSizes {
  /// So little that text and structure stay in a core's cache while they are read twice.
  std::size_t windowBytes = 256 << 10;
  /// No profiler writes an event of so much text, nor so much around the list.
  std::size_t mostBytes = 256 << 20;
};

/// Cuts the event list of a Chrome trace into pieces, so that a file of any size is read in bounded
/// memory.
class EventWindows {
 public:
  /// No piece is longer than `mostBytes`: where no event begins within them reading stops, and
  /// problem() reports it.
  explicit EventWindows(std::unique_ptr<ByteSource> source, const WindowSizes& sizes = {})
      : source_(std::move(source)), sizes_(sizes) {}

  /// Reads up to the event list. Fails on a file that has none.
  prof::Status findList();
  /// The members of the top-level object before the list, as the text of an object without its
  /// closing brace; empty when the file is a bare list.
  [[nodiscard]] const std::string& head() const { return head_; }
  /// Chrome's own form, which may leave out its last bracket.
  [[nodiscard]] bool isBareList() const { return bareList_; }
  /// The next piece, in the memory of the one that `window` held before; false at the end of the
  /// file.
  bool next(EventWindow& window);
  [[nodiscard]] std::size_t mostBytes() const { return sizes_.mostBytes; }
  [[nodiscard]] double progress() const { return source_->progress(); }
  [[nodiscard]] const std::string& problem() const {
    return problem_.empty() ? source_->problem() : problem_;
  }

 private:
  bool readMore(std::size_t bytes);
  [[nodiscard]] std::string_view unread() const { return {carry_.data(), have_}; }

  std::unique_ptr<ByteSource> source_;
  WindowSizes sizes_;
  std::string head_;
  std::string carry_;  ///< longer than what was read into it, so that it need not be cleared again
                       ///< and again
  std::size_t have_ = 0;
  std::string gap_;
  std::string problem_;
  std::uint64_t offset_ = 0;
  std::uint64_t number_ = 0;
  bool bareList_ = false;
  bool ended_ = false;
  bool lastGiven_ = false;
};

}  // namespace lacuna::analyzer
