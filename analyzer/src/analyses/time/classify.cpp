// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <string>

#include "analyses/work/lowered.h"
#include "formats/kernel_name.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {
namespace {

bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.starts_with(part); });
}

bool isLoaderWait(std::string_view category, std::string_view name) {
  if (name.starts_with("enumerate(dataloader)#")) return true;
  // TorchRec's range of this name waits for nothing: it makes the compute queue wait for the one
  // that copies.
  if (name.starts_with("## wait_for_batch")) return false;
  if (category == "loader") {
    const bool isChange = std::ranges::find(kLoaderChanges, name) != kLoaderChanges.end();
    return isChange || name == "wait" || containsAny(name, {"next batch", "get_batch"});
  }
  return containsAny(name, {"loader.wait", "loader wait", "dataloader.__next__", "wait_for_batch",
                            "data_wait", "wait_for_data"});
}

bool isOperator(std::string_view domain, std::string_view category, std::string_view name) {
  if (category == "cpu_op" || category == "operator" || category == "op" ||
      category == "forward_op" || category == "backward_op") {
    return true;
  }
  if (containsAny(domain,
                  {"cublas", "cudnn", "cusparse", "cusolver", "cufft", "nccl", "cub", "thrust"}))
    return true;
  return startsWithAny(name, {"aten::", "autograd::", "torch::", "c10d::", "nccl:", "prims::"});
}

}  // namespace

bool isStepMarker(std::string_view category, std::string_view name) {
  if (name.starts_with("ProfilerStep#")) return true;
  const std::string lower = lowered(name);
  if (lowered(category) == "step") return true;
  std::string_view rest = lower;
  for (std::string_view prefix : {"training ", "training_", "train ", "train_"}) {
    if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  }
  bool matched = false;
  for (std::string_view word : {"iteration", "step", "iter"}) {
    if (rest.starts_with(word)) {
      rest.remove_prefix(word.size());
      matched = true;
      break;
    }
  }
  return matched && std::all_of(rest.begin(), rest.end(), [](unsigned char c) {
           return std::isdigit(c) || c == ' ' || c == '#' || c == '_' || c == ':' || c == '=';
         });
}

Activity classifyRange(std::string_view domain, std::string_view category, std::string_view name) {
  if (isStepMarker(category, name)) return Activity::Annotation;
  const std::string lowerName = lowered(name);
  const std::string lowerCategory = lowered(category);
  // Its queue's rows have it. On the thread that asked for it, it lies within the operator of the
  // same name.
  if (domain == "lacuna.rt" && lowerCategory == "execution") return Activity::None;
  if (lowerCategory == "profiler" || lowerCategory == "overhead") return Activity::Profiler;
  if (lowerCategory == "sync" || lowerCategory == "synchronisation") return Activity::Sync;
  if (isLoaderWait(lowerCategory, lowerName)) return Activity::LoaderWait;
  if (lowerCategory == "alloc" || lowerCategory == "allocator") return Activity::Driver;
  if (isOperator(lowered(domain), lowerCategory, lowerName)) return Activity::Operator;
  return Activity::Annotation;
}

Activity classifyCall(std::string_view name) {
  const std::string lower = lowered(name);
  if (contains(lower, "synchronize")) return Activity::Sync;
  const bool copies = containsAny(lower, {"memcpy", "memset"});
  if (copies) return contains(lower, "async") ? Activity::Launch : Activity::Sync;
  if (containsAny(lower, {"launch", "memprefetchasync", "enqueue"})) return Activity::Launch;
  return Activity::Driver;
}

Work classifyKernel(std::string_view name) {
  return isCommunicationKernel(name) ? Work::Communication : Work::Compute;
}

Activity NameClasses::ofRange(prof::StringId domain, prof::StringId category, prof::StringId name) {
  const auto [entry, isNew] = ranges_.try_emplace(RangeKey{domain, category, name}, Activity::None);
  if (isNew)
    entry->second = classifyRange(store_.text(domain), store_.text(category), store_.text(name));
  return entry->second;
}

Activity NameClasses::ofCall(prof::StringId name) {
  const auto [entry, isNew] = calls_.try_emplace(name, Activity::None);
  if (isNew) entry->second = classifyCall(store_.text(name));
  return entry->second;
}

Work NameClasses::ofKernel(prof::StringId name) {
  const auto [entry, isNew] = kernels_.try_emplace(name, Work::Compute);
  if (isNew) entry->second = classifyKernel(store_.text(name));
  return entry->second;
}

}  // namespace lacuna::analyzer
