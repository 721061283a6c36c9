// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/capture.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace lacuna::collector::cupti {
namespace {

constexpr std::array<char, 8> kMagic = {'L', 'C', 'N', 'C', 'U', 'P', 'T', '1'};
constexpr std::uint64_t kMaxChunkBytes = 1ull << 30;
/// Programs that one process ran after each other, and whose captures are kept.
constexpr int kMostPrograms = 1000;

enum ChunkType : std::uint32_t { kHeader = 1, kBuffer = 2, kText = 3, kApiName = 4, kClock = 5 };

struct ChunkHead {
  std::uint32_t type;
  std::uint32_t reserved;
  std::uint64_t bytes;
};

struct HeaderChunk {
  std::uint32_t cuptiVersion;
  std::uint32_t kinds;
};
struct ApiChunk {
  std::uint32_t driver;
  std::uint32_t callbackId;
};
struct ClockChunk {
  std::int64_t stampNs;
  std::int64_t monotonicNs;
};

template <class T>
std::span<const std::byte> bytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Takes a T off the front; false when the chunk is too short for one.
template <class T>
bool take(std::span<const std::byte>& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return true;
}

std::string textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class Record, class Member>
void visitText(const void* record, std::size_t bytes, Member member,
               const std::function<void(const char*)>& visit) {
  Record copy{};
  std::memcpy(&copy, record, std::min(bytes, sizeof copy));
  if (copy.*member != nullptr) visit(copy.*member);
}

bool readHeader(std::span<const std::byte> bytes, Capture& capture) {
  HeaderChunk header{};
  if (!take(bytes, header)) return false;
  capture.cuptiVersion = header.cuptiVersion;
  for (std::uint32_t kind = 0; kind < header.kinds; ++kind) {
    std::uint16_t stride = 0;
    if (!take(bytes, stride)) return false;
    if (kind < capture.strides.size()) capture.strides[kind] = stride;
  }
  return true;
}

/// False when the chunk's content makes no sense.
bool readChunk(std::uint32_t type, std::span<const std::byte> bytes, Capture& capture) {
  std::uint64_t pointer = 0;
  ApiChunk api{};
  ClockChunk clock{};
  switch (type) {
    case kHeader:
      return readHeader(bytes, capture);
    case kBuffer:
      capture.buffers.emplace_back(bytes.begin(), bytes.end());
      return true;
    case kText:
      if (!take(bytes, pointer)) return false;
      capture.texts.push_back({capture.buffers.size(), pointer, textOf(bytes)});
      return true;
    case kApiName:
      if (!take(bytes, api)) return false;
      capture.apiNames.insert_or_assign({api.driver != 0, api.callbackId}, textOf(bytes));
      return true;
    case kClock:
      if (!take(bytes, clock)) return false;
      capture.clocks.emplace_back(clock.stampNs, clock.monotonicNs);
      return true;
    default:
      return true;  // of a newer version
  }
}

/// True when a chunk was read; false at the end, with `complaint` set unless the end is a clean
/// one.
bool readNext(std::FILE* file, std::uint64_t fileBytes, Capture& capture, std::string& complaint) {
  ChunkHead head{};
  const auto at = static_cast<std::uint64_t>(std::ftell(file));
  const std::size_t got = std::fread(&head, 1, sizeof head, file);
  if (got == 0) return false;
  std::vector<std::byte> body;
  const bool fits = got == sizeof head && head.bytes <= kMaxChunkBytes &&
                    head.bytes <= fileBytes - at - sizeof head;
  if (fits) body.resize(head.bytes);
  if (!fits || std::fread(body.data(), 1, body.size(), file) != body.size() ||
      !readChunk(head.type, body, capture)) {
    complaint = "the capture is damaged or cut off at byte " + std::to_string(at) +
                "; what comes before it is used";
    return false;
  }
  return true;
}

}  // namespace

void forEachText(const void* record, std::size_t bytes,
                 const std::function<void(const char*)>& visit) {
  std::uint32_t kind = 0;
  if (bytes < sizeof kind) return;
  std::memcpy(&kind, record, sizeof kind);
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return visitText<CUpti_ActivityKernel10>(record, bytes, &CUpti_ActivityKernel10::name, visit);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return visitText<CUpti_ActivityMemory4>(record, bytes, &CUpti_ActivityMemory4::name, visit);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return visitText<CUpti_ActivityDevice5>(record, bytes, &CUpti_ActivityDevice5::name, visit);
    default:
      return;
  }
}

CaptureWriter::CaptureWriter(const std::string& path, std::uint32_t cuptiVersion,
                             const Strides& strides)
    : strides_(strides) {
  create(path);
  write(std::as_bytes(std::span(kMagic)));
  const HeaderChunk header{cuptiVersion, static_cast<std::uint32_t>(strides.size())};
  chunk(kHeader, bytesOf(header), std::as_bytes(std::span(strides)));
}

CaptureWriter::~CaptureWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

/// A process that starts another program (exec) keeps its number, and what it captured before.
void CaptureWriter::create(const std::filesystem::path& path) {
  path_ = path.string();
  for (int number = 2; file_ == nullptr; ++number) {
    file_ = std::fopen(path_.c_str(), "wbxe");
    if (file_ != nullptr || errno != EEXIST || number > kMostPrograms) break;
    path_ = (path.parent_path() / path.stem()).string() + "-" + std::to_string(number) +
            path.extension().string();
  }
  if (file_ == nullptr) why_ = path_ + ": " + std::strerror(errno);
}

void CaptureWriter::write(std::span<const std::byte> bytes) {
  if (file_ == nullptr || bytes.empty()) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) breakOff();
}

void CaptureWriter::breakOff() {
  why_ = path_ + ": " + std::strerror(errno);
  std::fclose(file_);
  file_ = nullptr;
}

void CaptureWriter::chunk(std::uint32_t type, std::span<const std::byte> head,
                          std::span<const std::byte> body) {
  write(bytesOf(ChunkHead{type, 0, head.size() + body.size()}));
  write(head);
  write(body);
  if (file_ != nullptr && std::fflush(file_) != 0) breakOff();
}

void CaptureWriter::buffer(const std::byte* data, std::size_t bytes) {
  const auto keep = [&](const char* text) {
    const auto pointer = reinterpret_cast<std::uintptr_t>(text);
    std::string& known = textsWritten_[pointer];
    if (!known.empty() && known == text) return;
    known = text;
    chunk(kText, bytesOf(static_cast<std::uint64_t>(pointer)), bytesOf(std::string_view(text)));
  };
  std::size_t offset = 0;
  while (bytes - offset >= sizeof(CUpti_ActivityKind)) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, data + offset, sizeof kind);
    const std::size_t stride = kind < strides_.size() ? strides_[kind] : 0;
    if (stride == 0 || stride > bytes - offset) break;
    forEachText(data + offset, stride, keep);
    offset += stride;
  }
  chunk(kBuffer, {data, bytes});
}

void CaptureWriter::apiName(bool driver, std::uint32_t callbackId, const std::string& name) {
  chunk(kApiName, bytesOf(ApiChunk{driver ? 1u : 0u, callbackId}), bytesOf(std::string_view(name)));
}

void CaptureWriter::clock(std::int64_t stampNs, prof::TimeNs monotonicNs) {
  chunk(kClock, bytesOf(ClockChunk{stampNs, monotonicNs}));
}

prof::Result<Capture> readCapture(const std::string& path, std::string* complaint) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (!file) return prof::Error{"cannot open the capture " + path + ": " + std::strerror(errno)};
  std::fseek(file.get(), 0, SEEK_END);
  const auto fileBytes = static_cast<std::uint64_t>(std::ftell(file.get()));
  std::rewind(file.get());
  std::array<char, 8> magic{};
  if (std::fread(magic.data(), 1, magic.size(), file.get()) != magic.size() || magic != kMagic) {
    return prof::Error{
        path + " is not a raw CUPTI capture; give a file written by lacuna run --raw-capture"};
  }
  Capture capture;
  std::string trouble;
  while (readNext(file.get(), fileBytes, capture, trouble)) {
  }
  if (complaint != nullptr) *complaint = trouble;
  return capture;
}

DecodeStats replay(const Capture& capture, RowSink& sink,
                   std::function<std::string(const std::string& symbol)> plainName) {
  ClockMap clock;
  for (const auto& [realtime, monotonic] : capture.clocks) clock.add(realtime, monotonic);
  std::map<std::uint64_t, std::string_view> texts;
  DecoderHooks hooks;
  hooks.clock = &clock;
  hooks.plainName = std::move(plainName);
  hooks.text = [&](const void* pointer) -> std::string_view {
    const auto found = texts.find(reinterpret_cast<std::uintptr_t>(pointer));
    return found != texts.end() ? found->second : std::string_view();
  };
  hooks.apiName = [&](bool driver, std::uint32_t callbackId) {
    const auto found = capture.apiNames.find({driver, callbackId});
    return found != capture.apiNames.end() ? found->second : std::string();
  };
  Decoder decoder(sink, hooks);
  auto text = capture.texts.begin();
  for (std::size_t i = 0; i < capture.buffers.size(); ++i) {
    for (; text != capture.texts.end() && text->fromBuffer <= i; ++text)
      texts[text->pointer] = text->text;
    decoder.decodeBuffer(capture.buffers[i].data(), capture.buffers[i].size(), capture.strides);
  }
  return decoder.stats();
}

}  // namespace lacuna::collector::cupti
