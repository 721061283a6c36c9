// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "python/frame_reader.h"
#include "python/layout.h"
#include "python/line_table.h"
#include "python/memory.h"

/// Any bytes as the memory of a Python program: an announcement up to the first byte 0, then what
/// is at every address, over and over. Frames, objects and tables of lines are read from it; there
/// must be an end, and no more than there may be. Where the announcement makes no sense, that of a
/// version of CPython is taken.
namespace {

using namespace lacuna::collector::python;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_frames: %s\n", what);
  std::abort();
}

/// The same bytes at each multiple of their number. Memory beyond the first 4 GiB is not there.
class RepeatedMemory final : public Memory {
 public:
  explicit RepeatedMemory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  using Memory::read;
  std::size_t read(std::span<const Piece> pieces) override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      total_ += pieces[i].into.size();
      if (bytes_.empty() || pieces[i].address >> 32 != 0) return i;
      for (std::size_t at = 0; at < pieces[i].into.size(); ++at) {
        pieces[i].into[at] = bytes_[(pieces[i].address + at) % bytes_.size()];
      }
    }
    return pieces.size();
  }
  [[nodiscard]] std::size_t total() const { return total_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t total_ = 0;
};

constexpr std::string_view kObjects =
    "pid 17\nback 24\nbytes_data 32\nbytes_size 16\ncode 32\ncode_size 176\ncode_type 64\nfile "
    "104\nfirst_line 40\n"
    "frame 24\nframe_type 64\nid 176\ninterpreter 64\nlasti 96\nlines 2\nname 112\nnext 8\ntable "
    "120\ntext_ascii 48\n"
    "text_kind_shift 2\ntext_length 16\ntext_state 32\ntext_wide 72\nthreads 8\ntid 720\ntype "
    "8\nend 1\n";
constexpr std::string_view kStack =
    "pid 17\nback 48\nbytecode 184\nbytes_data 32\nbytes_size 16\ncframe 56\ncframe_frame 8\nchunk "
    "296\ncode 32\n"
    "code_size 192\ncode_type 64\nfile 112\nfirst_line 72\nframe_size 80\nid 152\ninstruction "
    "56\ninterpreter 64\n"
    "lines 3\nname 128\nnext 8\nowner 69\ntable 136\ntext_ascii 48\ntext_kind_shift 2\ntext_length "
    "16\ntext_state 32\n"
    "text_wide 72\nthreads 16\ntid 720\ntype 8\nunits 16\nend 1\n";

void readFrames(const Layout& layout, std::span<const std::byte> bytes) {
  RepeatedMemory memory(bytes);
  std::size_t texts = 0;
  FrameReader reader(layout, memory, [&](const std::string& function, const std::string& file) {
    must(function.size() <= 512 * 4 && file.size() <= 4096 * 4, "a text is longer than it may be");
    return static_cast<std::uint32_t>(++texts);
  });
  std::vector<ThreadStack> stacks;
  for (int i = 0; i < 2; ++i) {
    reader.read(stacks);
    must(stacks.size() <= 1024, "more threads than there may be");
    for (const ThreadStack& stack : stacks) {
      must(stack.frames.size() <= kMostFrames && !stack.frames.empty(),
           "a stack of a size that it may not have");
      must(stack.tid != 0, "a thread without a number");
    }
  }
  must(memory.total() < std::size_t{4} << 30, "more was read than a round may read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data), size);
  const auto zero = std::find(input.begin(), input.end(), std::byte{0});
  const auto text = static_cast<std::size_t>(zero - input.begin());
  const auto memory = input.subspan(std::min(size, text + 1));
  const auto own = parseLayout({reinterpret_cast<const char*>(data), text});
  if (own) {
    readFrames(*own, memory);
  } else {
    for (const std::string_view known : {kObjects, kStack}) readFrames(*parseLayout(known), memory);
  }
  for (const LineTable kind : {LineTable::Pairs, LineTable::Ranges, LineTable::Locations}) {
    for (const std::uint64_t offset :
         {std::uint64_t{0}, std::uint64_t{24}, static_cast<std::uint64_t>(size)}) {
      must(lineOf(kind, input, 1, offset) != 0u, "line 0");
    }
  }
  return 0;
}
