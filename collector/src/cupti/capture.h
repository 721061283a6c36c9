// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cupti/decoder.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector::cupti {

/// The data that CUPTI handed over in one process, with everything that is needed to decode it on
/// another machine.
struct Capture {
  std::uint32_t cuptiVersion = 0;
  Strides strides{};
  std::vector<std::vector<std::byte>> buffers;
  /// Behind the pointers in the records. An address may mean another text after a module was
  /// unloaded, so each holds from a certain buffer on.
  struct Text {
    std::size_t fromBuffer;
    std::uint64_t pointer;
    std::string text;
  };
  std::vector<Text> texts;
  std::map<std::pair<bool, std::uint32_t>, std::string> apiNames;
  std::vector<std::pair<std::int64_t, prof::TimeNs>> clocks;  ///< (CUPTI's stamp, MONOTONIC)
};

/// Calls visit(pointer) for every text that a record points to.
void forEachText(const void* record, std::size_t bytes,
                 const std::function<void(const char*)>& visit);

/// Appends to a capture file as things happen; records written before a crash can be read. Not
/// thread-safe. A failure to write ends the capture, because the recorded program must not suffer;
/// failed() and why() report it.
class CaptureWriter {
 public:
  /// A file that is there is left as it is, and one with a number in its name made beside it:
  /// cupti-7.raw, cupti-7-2.raw.
  CaptureWriter(const std::string& path, std::uint32_t cuptiVersion, const Strides& strides);
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  /// A buffer as CUPTI completed it, and the texts that its records point to, which are valid only
  /// now.
  void buffer(const std::byte* data, std::size_t bytes);
  void apiName(bool driver, std::uint32_t callbackId, const std::string& name);
  void clock(std::int64_t stampNs, prof::TimeNs monotonicNs);
  [[nodiscard]] bool failed() const { return file_ == nullptr; }
  /// The file and what went wrong with it.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  void create(const std::filesystem::path& path);
  void write(std::span<const std::byte> bytes);
  void breakOff();
  void chunk(std::uint32_t type, std::span<const std::byte> head,
             std::span<const std::byte> body = {});
  std::FILE* file_ = nullptr;
  std::string path_;
  std::string why_;
  Strides strides_;
  std::map<std::uint64_t, std::string> textsWritten_;
};

/// Reads a capture file up to its end or to the first damaged chunk; `complaint` names what was
/// left out, if anything.
prof::Result<Capture> readCapture(const std::string& path, std::string* complaint = nullptr);

/// Decodes a capture into rows, as the tracer did or would have done where it was taken.
/// `plainName` as in DecoderHooks.
DecodeStats replay(const Capture& capture, RowSink& sink,
                   std::function<std::string(const std::string& symbol)> plainName = {});

}  // namespace lacuna::collector::cupti
