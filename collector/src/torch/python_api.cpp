// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/python_api.h"

#include <dlfcn.h>

#include <optional>

namespace lacuna::collector::torch {
namespace {

template <class Pointer>
bool find(const char* name, Pointer& place) {
  place = reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
  return place != nullptr;
}

std::optional<PythonApi> findAll() {
  PythonApi api{};
  const bool foundAll =
      find("Py_IncRef", api.incRef) && find("Py_DecRef", api.decRef) &&
      find("PyObject_Call", api.call) && find("PyObject_CallFunctionObjArgs", api.callWith) &&
      find("PyTuple_New", api.newTuple) && find("PyTuple_Size", api.tupleSize) &&
      find("PyTuple_GetItem", api.tupleItem) && find("PyTuple_SetItem", api.setTupleItem) &&
      find("PyDescr_NewMethod", api.newMethod) && find("PyCFunction_NewEx", api.newFunction) &&
      find("PyLong_FromVoidPtr", api.intOf) && find("PyLong_AsVoidPtr", api.pointerOf) &&
      find("PyUnicode_InternFromString", api.lastingText) &&
      find("PyObject_GetAttr", api.attribute) && find("PyObject_IsTrue", api.isTrue) &&
      find("PyErr_ExceptionMatches", api.errorIs) && find("PyErr_Clear", api.clearError) &&
      find("PyErr_WriteUnraisable", api.reportError) &&
      find("PyExc_AttributeError", api.attributeError) && find("PyGILState_Ensure", api.lock) &&
      find("PyGILState_Release", api.unlock) &&
      find("PyGILState_GetThisThreadState", api.threadState) &&
      find("PyUnicode_AsUTF8", api.words) && find("PyCode_Addr2Line", api.lineOf);
  if (!find("Py_IsFinalizing", api.isFinalizing)) find("_Py_IsFinalizing", api.isFinalizing);
  return foundAll ? std::optional(api) : std::nullopt;
}

}  // namespace

const PythonApi* pythonApi() {
  static const std::optional<PythonApi> api = findAll();
  return api ? &*api : nullptr;
}

}  // namespace lacuna::collector::torch
