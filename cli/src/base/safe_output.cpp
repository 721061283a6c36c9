// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/safe_output.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

#include "lacuna/analyzer/text.h"

namespace lacuna::cli {
namespace {

/// Begins a sequence of ours; kEnd ends it. Empty until output is made safe.
std::string mark;
constexpr char kEnd = '}';
constexpr std::size_t kLongestOwn = 64;

bool writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(descriptor, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

/// One of the two streams. A write may end within a character or a sequence of ours, whose
/// beginning then waits.
struct SafeStream {
  int descriptor;
  bool isData = false;
  std::string waiting;

  bool write(std::string_view bytes);

 private:
  /// Moves what stands at the front of `text` to `out`; false where it is cut off.
  static bool take(std::string_view& text, std::string& out);
};

/// True when more bytes could make a valid character of a text that is shorter than one.
bool isCutCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0xc2   ? 1
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 1;
  if (text.size() >= length) return false;
  for (const char c : text.substr(1)) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) return false;
  }
  return true;
}

bool SafeStream::take(std::string_view& text, std::string& out) {
  if (text[0] == '\033') {
    if (text.size() < mark.size() && mark.starts_with(text)) return false;
    if (text.starts_with(mark)) {
      const std::size_t end = text.substr(0, kLongestOwn).find(kEnd, mark.size());
      if (end == std::string_view::npos && text.size() < kLongestOwn) return false;
      if (end != std::string_view::npos) {
        out += text.substr(mark.size(), end - mark.size());
        text.remove_prefix(end + 1);
        return true;
      }
    }
  }
  if (isCutCharacter(text)) return false;
  const std::size_t length = std::max<std::size_t>(1, analyzer::utf8SequenceLength(text));
  const bool isLayout = text[0] == '\n' || text[0] == '\t';
  out += isLayout ? std::string(1, text[0]) : analyzer::visibleText(text.substr(0, length));
  text.remove_prefix(length);
  return true;
}

bool SafeStream::write(std::string_view bytes) {
  if (isData) return writeAll(descriptor, bytes);
  waiting += bytes;
  std::string_view rest = waiting;
  std::string out;
  out.reserve(rest.size());
  while (!rest.empty() && take(rest, out)) {
  }
  waiting.erase(0, waiting.size() - rest.size());
  return writeAll(descriptor, out);
}

SafeStream standardOutput{STDOUT_FILENO, false, {}};
SafeStream standardError{STDERR_FILENO, false, {}};

/// For the C library, which no exception may cross; 0 is failure.
ssize_t writeSafely(void* stream, const char* bytes, std::size_t count) noexcept {
  try {
    return static_cast<SafeStream*>(stream)->write({bytes, count}) ? static_cast<ssize_t>(count)
                                                                   : 0;
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return 0;
  }
}

std::FILE* opened(SafeStream& stream, int buffering) {
  std::FILE* file = ::fopencookie(
      &stream, "w", {.read = nullptr, .write = writeSafely, .seek = nullptr, .close = nullptr});
  if (file != nullptr) std::setvbuf(file, nullptr, buffering, BUFSIZ);
  return file;
}

std::string newMark() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
    random =
        static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return fmt::format("\033{{{:016x}", random);
}

}  // namespace

void makeOutputSafe() {
  std::FILE* const out = opened(standardOutput, ::isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF);
  std::FILE* const error = opened(standardError, _IOLBF);
  if (out == nullptr || error == nullptr) return;
  mark = newMark();
  stdout = out;
  stderr = error;
}

void sendOutputAsData() {
  std::fflush(stdout);
  standardOutput.isData = ::isatty(STDOUT_FILENO) == 0;
}

std::string own(std::string_view sequence) {
  return mark.empty() || sequence.empty() ? std::string(sequence)
                                          : fmt::format("{}{}{}", mark, sequence, kEnd);
}

std::string withOwnColours(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find("\033[");
    const std::size_t end = at == std::string_view::npos ? at : text.find('m', at);
    out += text.substr(0, at);
    if (end == std::string_view::npos) break;
    const std::string_view colour = text.substr(at, end + 1 - at);
    const bool isColour = colour.find_first_not_of("0123456789;", 2) == colour.size() - 1;
    out += isColour ? own(colour) : std::string(colour);
    text.remove_prefix(end + 1);
  }
  return out;
}

int descriptorOf(std::FILE* stream) {
  return stream == stdout ? STDOUT_FILENO : stream == stderr ? STDERR_FILENO : ::fileno(stream);
}

bool isTerminal(std::FILE* stream) {
  return ::isatty(descriptorOf(stream)) != 0;
}

}  // namespace lacuna::cli
