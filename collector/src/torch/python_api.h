// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Python's own name for its objects.
struct _object;  // NOLINT(bugprone-reserved-identifier)

namespace lacuna::collector::torch {

using Object = ::_object;
using MethodFunction = Object* (*)(Object* self, Object* args, Object* named);

/// PyMethodDef
struct MethodDefinition {
  const char* name;
  MethodFunction function;
  int flags;
  const char* doc;
};
/// METH_VARARGS | METH_KEYWORDS
inline constexpr int kAnyArguments = 1 | 2;

/// Functions of Python's stable interface, by what they do. They are looked up in the process, so
/// this library needs no header of Python and serves every version.
struct PythonApi {
  void (*incRef)(Object*);
  void (*decRef)(Object*);
  Object* (*call)(Object* callable, Object* args, Object* named);
  Object* (*callWith)(Object* callable, ...);  ///< the arguments, and null behind them
  Object* (*newTuple)(std::ptrdiff_t size);
  std::ptrdiff_t (*tupleSize)(Object* tuple);
  Object* (*tupleItem)(Object* tuple, std::ptrdiff_t at);               ///< borrowed
  int (*setTupleItem)(Object* tuple, std::ptrdiff_t at, Object* item);  ///< takes over the item
  Object* (*newMethod)(Object* type,
                       const MethodDefinition* definition);  ///< kept by the caller, for good
  Object* (*newFunction)(const MethodDefinition* definition, Object* self,
                         Object* module);  ///< the definition is kept by the caller, for good
  Object* (*intOf)(void* pointer);
  void* (*pointerOf)(Object* number);
  Object* (*lastingText)(const char* text);
  Object* (*attribute)(Object* of, Object* name);
  int (*isTrue)(Object*);  ///< -1 for an error
  int (*errorIs)(Object* kind);
  void (*clearError)();
  void (*reportError)(Object* where);  ///< prints it, and clears it
  Object** attributeError;
  int (*lock)();  ///< Python's global lock; the result is for unlock()
  void (*unlock)(int state);
  const void* (*threadState)();  ///< of this thread; null where it runs no Python. Needs no lock.
  const char* (*words)(Object* text);
  int (*lineOf)(Object* code, int instruction);
  int (*isFinalizing)();  ///< null in versions that do not have it
};

/// Null where the process has no Python, or hides it from its libraries.
const PythonApi* pythonApi();

}  // namespace lacuna::collector::torch
