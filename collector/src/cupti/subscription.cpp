// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/subscription.h"

#include <string>

namespace lacuna::collector::cupti {
namespace {

/// Asks who has subscribed, in versions that can answer.
CUptiResult subscribeNamed(const Library& library, CUpti_CallbackFunc onCallback,
                           CUpti_SubscriberHandle& subscriber, std::string& holder) {
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
  const auto subscribeV2 =
      reinterpret_cast<decltype(&::cuptiSubscribe_v2)>(library.symbol("cuptiSubscribe_v2"));
  if (subscribeV2 != nullptr) {
    char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = {};
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "lacuna";
    params.oldSubscriberName = name;
    params.oldSubscriberSize = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN;
    const CUptiResult result = subscribeV2(&subscriber, onCallback, nullptr, &params);
    holder = name;
    // A version that wants other parameters.
    if (result != CUPTI_ERROR_INVALID_PARAMETER) return result;
  }
#endif
  return library.Subscribe(&subscriber, onCallback, nullptr);
}

std::string heldByAnother(const std::string& holder) {
  return "no CUDA timeline: another profiler in this process already uses CUPTI" +
         (holder.empty() ? std::string() : " (" + holder + ")") +
         ", and this driver allows only one. Remedy: switch the other profiler off "
         "(torch.profiler, nsys, ncu, a DCGM profiling job), or use CUDA 13.3 or "
         "newer, which allows several";
}

}  // namespace

Subscription subscribeTo(const Library& library, CUpti_CallbackFunc onCallback) {
  Subscription made;
  std::string holder;
  const CUptiResult result = subscribeNamed(library, onCallback, made.subscriber, holder);
  switch (result) {
    case CUPTI_SUCCESS:
      break;
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_UNKNOWN:
      made.state = TracerState::NoDriver;
      made.text =
          "no CUDA timeline: there is no usable NVIDIA driver on this machine; the host's "
          "side is recorded. Remedy: run where nvidia-smi works";
      break;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      made.state = TracerState::HeldByAnother;
      made.text = heldByAnother(holder);
      break;
    default:
      made.state = TracerState::Failed;
      made.text = "no CUDA timeline: CUPTI refused to start: " + library.describe(result);
  }
  return made;
}

}  // namespace lacuna::collector::cupti
