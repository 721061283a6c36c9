// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "nvtx/event_names.h"

#include <cstring>
#include <cwchar>
#include <iterator>

namespace lacuna::collector::nvtx {
namespace {

bool isText(const char* text, const std::string& name) {
  return text != nullptr && name == text;
}
bool isText(const wchar_t* text, const std::string& name) {
  return text != nullptr && name == narrow(text);
}

bool isNumbered(const char* text) {
  constexpr char kStart[] = "ProfilerStep#";
  return text != nullptr && std::strncmp(text, kStart, std::size(kStart) - 1) == 0;
}
bool isNumbered(const wchar_t* text) {
  constexpr wchar_t kStart[] = L"ProfilerStep#";
  return text != nullptr && std::wcsncmp(text, kStart, std::size(kStart) - 1) == 0;
}

}  // namespace

bool isCalled(const Described& event, const std::string& name) {
  if (event.message != nullptr) return isText(event.message, name);
  if (event.wideMessage != nullptr) return isText(event.wideMessage, name);
  if (event.attributes == nullptr) return false;
  const auto& message = event.attributes->message;
  switch (event.attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return isText(message.ascii, name);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return isText(message.unicode, name);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto* text = reinterpret_cast<const RegisteredText*>(message.registered);
      return text != nullptr && text->words() == name;
    }
    default:
      return false;
  }
}

bool isNumberedStep(const Described& event) {
  if (event.attributes == nullptr)
    return isNumbered(event.message) || isNumbered(event.wideMessage);
  const auto& message = event.attributes->message;
  switch (event.attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return isNumbered(message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return isNumbered(message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto* text = reinterpret_cast<const RegisteredText*>(message.registered);
      return text != nullptr && isNumbered(text->words().c_str());
    }
    default:
      return false;
  }
}

}  // namespace lacuna::collector::nvtx
