// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "lacuna/prof/file_error.h"

namespace lacuna::analyzer {
namespace {

constexpr std::size_t kInputBytes = 1 << 18;

class FileSource final : public ByteSource {
 public:
  FileSource(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  ~FileSource() override { ::close(fd_); }

  std::size_t read(char* to, std::size_t capacity) override {
    std::size_t filled = 0;
    while (filled < capacity) {
      const ssize_t got = ::read(fd_, to + filled, capacity - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0)
        problem_ =
            fmt::format("reading stopped at byte {}: {}", read_ + filled, std::strerror(errno));
      if (got <= 0) break;
      filled += static_cast<std::size_t>(got);
    }
    read_ += filled;
    return filled;
  }
  [[nodiscard]] double progress() const override {
    return size_ == 0 ? 1.0 : static_cast<double>(read_) / static_cast<double>(size_);
  }
  [[nodiscard]] std::uint64_t fileBytes() const override { return size_; }

 private:
  int fd_;
  std::uint64_t size_;
  std::uint64_t read_ = 0;
};

/// A decompressor over a file: the derived class turns input_ into output.
class Decompressor : public ByteSource {
 public:
  Decompressor(std::unique_ptr<FileSource> file, std::uint64_t most)
      : file_(std::move(file)), most_(most), input_(kInputBytes) {}

  std::size_t read(char* to, std::size_t capacity) override {
    std::size_t filled = 0;
    while (filled < capacity && !done_) {
      if (produced_ + filled > most_)
        stop("is beyond the budget for a file of this size (--budget text=… raises it)");
      if (done_) break;
      if (at_ == have_) refill();
      filled += step(to + filled, capacity - filled);
    }
    produced_ += filled;
    if (!why_.empty())
      problem_ = fmt::format("the compressed data {} after {} bytes of text", why_, produced_);
    return filled;
  }
  [[nodiscard]] double progress() const override { return file_->progress(); }
  [[nodiscard]] std::uint64_t fileBytes() const override { return file_->fileBytes(); }
  [[nodiscard]] bool isCompressed() const override { return true; }

 protected:
  virtual std::size_t step(char* to, std::size_t capacity) = 0;

  void stop(std::string_view why) {
    why_ = why;
    done_ = true;
  }
  void refill() {
    have_ = file_->read(input_.data(), input_.size());
    at_ = 0;
    ended_ = have_ == 0;
  }

  std::unique_ptr<FileSource> file_;
  std::uint64_t most_;  ///< bytes that it may unpack to
  std::vector<char> input_;
  std::size_t at_ = 0;
  std::size_t have_ = 0;
  std::uint64_t produced_ = 0;
  std::string_view why_;
  bool ended_ = false;
  bool done_ = false;
};

class GzipSource final : public Decompressor {
 public:
  GzipSource(std::unique_ptr<FileSource> file, std::uint64_t most)
      : Decompressor(std::move(file), most) {
    inflateInit2(&stream_, 15 + 16);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 protected:
  std::size_t step(char* to, std::size_t capacity) override {
    if (ended_) {
      // Between two members is where a gzip file may end.
      if (betweenMembers_) {
        done_ = true;
      } else {
        stop("ends early,");
      }
      return 0;
    }
    if (betweenMembers_) {
      // Some writers fill their last block with zeros.
      while (at_ < have_ && input_[at_] == 0) ++at_;
      if (at_ == have_) return 0;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data() + at_);
    stream_.avail_in = static_cast<uInt>(have_ - at_);
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(capacity, 1U << 30));
    const uInt room = stream_.avail_out;
    const int rc = inflate(&stream_, Z_NO_FLUSH);
    at_ = have_ - stream_.avail_in;
    betweenMembers_ = rc == Z_STREAM_END;
    if (betweenMembers_) {
      inflateReset(&stream_);
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
      stop("is damaged");
    }
    return room - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool betweenMembers_ = true;
};

class ZstdSource final : public Decompressor {
 public:
  ZstdSource(std::unique_ptr<FileSource> file, std::uint64_t most)
      : Decompressor(std::move(file), most), context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {}

 protected:
  std::size_t step(char* to, std::size_t capacity) override {
    ZSTD_inBuffer in{input_.data(), have_, at_};
    ZSTD_outBuffer out{to, capacity, 0};
    const std::size_t rc = ZSTD_decompressStream(context_.get(), &out, &in);
    at_ = in.pos;
    if (ZSTD_isError(rc) != 0) {
      const bool isWide = ZSTD_getErrorCode(rc) == ZSTD_error_frameParameter_windowTooLarge;
      stop(isWide ? "needs a window of more than 128 MiB (zstd --long; unpack it first)"
                  : "is damaged");
    } else if (ended_ && out.pos == 0) {
      if (wanted_ == 0) {
        done_ = true;
      } else {
        stop("ends early,");
      }
    }
    wanted_ = rc;
    return out.pos;
  }

 private:
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_;
  std::size_t wanted_ = 0;
};

/// Traces are read twice and more (what they are, what they hold), which only a file can be.
prof::Status refuseOtherThanFiles(const std::filesystem::path& path, mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode))
    return prof::Error{fmt::format("{}: is a folder; name a trace file", path.string())};
  if (S_ISFIFO(mode)) {
    return prof::Error{
        fmt::format("{}: is a pipe, not a file; write what comes out of it to a file and name that",
                    path.string())};
  }
  return prof::Error{fmt::format("{}: is a {}, not a file; name a trace file", path.string(),
                                 S_ISSOCK(mode) ? "socket" : "device")};
}

}  // namespace

prof::Result<std::unique_ptr<ByteSource>> ByteSource::open(const std::filesystem::path& path,
                                                           const prof::Budget& budget) {
  const auto cannotOpen = [&] {
    return prof::Error{
        fmt::format("{}: cannot be opened: {}", path.string(), prof::fileProblem(errno))};
  };
  // Before it is opened: to open a pipe waits for a writer, and to open a device may do something.
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return cannotOpen();
  if (const auto status = refuseOtherThanFiles(path, info.st_mode); !status) return status.error();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannotOpen();
  unsigned char magic[4] = {};
  const ssize_t got = ::pread(fd, magic, sizeof magic, 0);
  auto file = std::make_unique<FileSource>(fd, static_cast<std::uint64_t>(info.st_size));
  const std::uint64_t most = budget.most(prof::Budget::Item::Text, file->fileBytes());
  if (got >= 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
    return std::unique_ptr<ByteSource>(std::make_unique<GzipSource>(std::move(file), most));
  }
  if (got == 4 && magic[0] == 0x28 && magic[1] == 0xb5 && magic[2] == 0x2f && magic[3] == 0xfd) {
    return std::unique_ptr<ByteSource>(std::make_unique<ZstdSource>(std::move(file), most));
  }
  return std::unique_ptr<ByteSource>(std::move(file));
}

}  // namespace lacuna::analyzer
