// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "export/byte_sink.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "lacuna/prof/file_error.h"

namespace lacuna::analyzer {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

class FileSink : public ByteSink {
 public:
  explicit FileSink(File file) : file_(std::move(file)) {}

 protected:
  bool put(std::string_view bytes, bool last) override {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) return false;
    return !last || std::fflush(file_.get()) == 0;
  }

 private:
  File file_;
};

class GzipSink final : public FileSink {
 public:
  explicit GzipSink(File file) : FileSink(std::move(file)), out_(kBufferBytes) {
    deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  }
  ~GzipSink() override { deflateEnd(&stream_); }

 protected:
  bool put(std::string_view bytes, bool last) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = static_cast<uInt>(out_.size());
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      if (!FileSink::put({out_.data(), out_.size() - stream_.avail_out}, last)) return false;
    } while (stream_.avail_out == 0);
    return true;
  }

 private:
  z_stream stream_{};
  std::vector<char> out_;
};

class ZstdSink final : public FileSink {
 public:
  explicit ZstdSink(File file)
      : FileSink(std::move(file)),
        context_(ZSTD_createCCtx(), &ZSTD_freeCCtx),
        out_(kBufferBytes) {}

 protected:
  bool put(std::string_view bytes, bool last) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (std::size_t left = 1; left != 0;) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      left = ZSTD_compressStream2(context_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0 || !FileSink::put({out_.data(), out.pos}, last)) return false;
      if (!last && in.pos == in.size) break;
    }
    return true;
  }

 private:
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context_;
  std::vector<char> out_;
};

}  // namespace

prof::Result<std::unique_ptr<ByteSink>> ByteSink::create(const std::filesystem::path& path) {
  File file(std::fopen(path.c_str(), "wbe"));
  if (!file)
    return prof::Error{
        fmt::format("{}: cannot be written: {}", path.string(), prof::fileProblem(errno))};
  std::unique_ptr<ByteSink> sink;
  if (path.extension() == ".gz") {
    sink = std::make_unique<GzipSink>(std::move(file));
  } else if (path.extension() == ".zst") {
    sink = std::make_unique<ZstdSink>(std::move(file));
  } else {
    sink = std::make_unique<FileSink>(std::move(file));
  }
  sink->path_ = path;
  return sink;
}

void ByteSink::drain() {
  if (problem_.empty() && !put(buffer_, false)) problem_ = prof::fileProblem(errno);
  buffer_.clear();
}

prof::Status ByteSink::finish() {
  if (problem_.empty() && !put(buffer_, true)) problem_ = prof::fileProblem(errno);
  buffer_.clear();
  if (!problem_.empty())
    return prof::Error{fmt::format("{}: cannot be written: {}", path_.string(), problem_)};
  return {};
}

}  // namespace lacuna::analyzer
