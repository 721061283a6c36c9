#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Fails on a C++ file that uses a name of the standard library or of fmt and includes no header for it, neither itself nor
through this project's headers. Such a file compiles as long as another library's header happens to bring the name along.

includes_lint.py ROOT | --self-test"""
import os
import pathlib
import re
import sys
import tempfile

ROOMS = ("libprof", "collector", "runtime", "analyzer", "cli", "gui", "samples", "tests")
# The names that are used most, by the headers that must bring them. Other names are left to the compiler.
HEADERS = {
    "algorithm": "sort stable_sort partial_sort nth_element find_if find_if_not any_of all_of none_of count_if min_element "
                 "max_element minmax_element lower_bound upper_bound equal_range binary_search remove_if replace copy_if "
                 "copy_n fill_n generate is_sorted adjacent_find mismatch clamp set_difference set_intersection transform "
                 "unique rotate partition stable_partition for_each push_heap pop_heap make_heap ranges::sort ranges::find "
                 "ranges::find_if ranges::any_of ranges::all_of ranges::none_of ranges::count_if ranges::lower_bound "
                 "ranges::upper_bound ranges::max_element ranges::min_element ranges::stable_sort ranges::copy ranges::fill "
                 "ranges::contains ranges::equal ranges::reverse ranges::transform ranges::replace",
    "array": "array to_array",
    "atomic": "atomic atomic_ref atomic_thread_fence memory_order_relaxed memory_order_acquire memory_order_release",
    "bit": "bit_cast bit_width bit_ceil popcount countr_zero countl_zero has_single_bit endian",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": "sqrt exp log log2 log10 pow floor ceil round llround lround isfinite isnan isinf hypot sin cos tanh",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "cstdint": "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t uintptr_t intptr_t",
    "cstdio": "FILE fopen fclose fread fwrite fputs fprintf snprintf printf fflush perror remove",
    "cstdlib": "getenv strtoull strtoll strtod malloc free abort exit",
    "cstring": "memcpy memmove memset memcmp strlen strcmp strncmp strerror strchr strstr",
    "deque": "deque",
    "exception": "exception exception_ptr current_exception rethrow_exception make_exception_ptr uncaught_exceptions",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream fstream",
    "functional": "function hash less greater plus minus multiplies reference_wrapper ref cref bind_front",
    "initializer_list": "initializer_list",
    "iostream": "cout cerr cin",
    "iterator": "back_inserter inserter make_move_iterator istreambuf_iterator distance advance next prev",
    "limits": "numeric_limits",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared enable_shared_from_this addressof",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once recursive_mutex",
    "numeric": "accumulate iota reduce partial_sum inner_product gcd midpoint",
    "optional": "optional nullopt make_optional nullopt_t",
    "queue": "queue priority_queue",
    "random": "mt19937 mt19937_64 uniform_int_distribution uniform_real_distribution normal_distribution random_device",
    "set": "set multiset",
    "span": "span as_bytes as_writable_bytes dynamic_extent",
    "sstream": "ostringstream istringstream stringstream",
    "stdexcept": "runtime_error logic_error invalid_argument out_of_range",
    "string": "string to_string getline stoi stoul stoull stod",
    "string_view": "string_view",
    "system_error": "error_code system_error errc generic_category system_category",
    "thread": "thread jthread this_thread",
    "tuple": "tuple tie make_tuple forward_as_tuple apply tuple_size_v",
    "type_traits": "is_same_v decay_t remove_cvref_t enable_if_t conditional_t is_integral_v is_unsigned_v is_signed_v "
                   "is_trivially_copyable_v underlying_type_t invoke_result_t is_convertible_v",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set unordered_multiset",
    "utility": "move forward swap pair make_pair exchange index_sequence make_index_sequence in_place as_const",
    "variant": "variant visit get_if holds_alternative monostate",
    "vector": "vector",
}
# Headers that bring another's names by the standard, or that are this header with more.
BRINGS = {
    "string": ("string_view", "initializer_list"), "vector": ("initializer_list",), "map": ("utility", "initializer_list"),
    "unordered_map": ("utility", "initializer_list"), "array": ("initializer_list",), "fstream": ("string",), "sstream": ("string",),
    "tuple": ("utility",), "set": ("initializer_list",),
    "optional": ("initializer_list",), "deque": ("initializer_list",), "algorithm": ("initializer_list",),
    "utility": ("initializer_list",), "fmt/ranges.h": ("fmt/format.h",), "fmt/chrono.h": ("fmt/format.h",),
    "stdexcept": ("exception",), "cinttypes": ("cstdint",), "stdint.h": ("cstdint",), "string.h": ("cstring",),
    "stdio.h": ("cstdio",), "stdlib.h": ("cstdlib",), "math.h": ("cmath",), "iterator": ("initializer_list",),
    "unordered_set": ("initializer_list",), "span": ("array",),
}
# A name that several headers bring: any of them will do.
ALSO = {
    "hash": ("string", "string_view", "memory", "optional", "variant", "thread", "system_error", "filesystem"),
    "swap": ("vector", "string", "algorithm"), "move": ("algorithm",), "get_if": ("variant",), "remove": ("algorithm",),
    "next": ("vector", "string", "map", "set", "array", "span", "deque"), "prev": ("vector", "string", "map", "set", "array", "span", "deque"),
    "distance": ("vector", "string", "map", "set", "array", "span", "deque"),
    "advance": ("vector", "string", "map", "set", "array", "span", "deque"),
    "pair": ("map", "unordered_map"), "index_sequence": ("tuple",), "exception_ptr": ("future",), "error_code": ("filesystem",),
    "errc": ("charconv",),  # what from_chars() answers holds one
}
NOT_COMPILED = "tests/collector/torch/fake/"  # headers that the PyTorch hook's tests read as text
NOISE = re.compile(r'//[^\n]*|/\*(?:.|\n)*?\*/|R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"')
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"]+)[>\"]", re.M)
USE = re.compile(r"(?<![\w:])(?:::)?std::((?:ranges::)?\w+)")
WANTED = {name: header for header, names in HEADERS.items() for name in names.split()}


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = sorted(path for room in ROOMS for ending in ("*.h", "*.cpp") for path in (self.root / room).rglob(ending)
                            if not path.relative_to(self.root).as_posix().startswith(NOT_COMPILED))
        self.by_end = {}
        for path in self.files:
            parts = path.relative_to(self.root).parts
            for start in range(len(parts)):
                self.by_end.setdefault("/".join(parts[start:]), []).append(path)
        self.texts = {path: path.read_text(encoding="utf-8") for path in self.files}
        self.included = {path: [(name, self.named(name, path)) for _, name in INCLUDE.findall(text)]
                         for path, text in self.texts.items()}

    def named(self, name, user):
        """The file of this project that an include names: beside its user, or the one that shares most of its path."""
        beside = pathlib.Path(os.path.normpath(user.parent / name))
        if beside in self.texts:
            return beside
        found = self.by_end.get(name.replace("../", ""), [])
        return max(found, key=lambda path: len(set(path.parts) & set(user.parts)), default=None)

    def brought(self, path):
        """Other people's headers that a file includes, itself or through this project's."""
        headers, queue, seen = set(), [path], {path}
        while queue:
            for name, own in self.included[queue.pop()]:
                if own is None:
                    headers.add(name)
                elif own not in seen:
                    seen.add(own)
                    queue.append(own)
        for name in tuple(headers):
            headers.update(BRINGS.get(name, ()))
        return headers

    def faults(self):
        """(file, line, name, header) of each name that no header brings."""
        found = []
        for path in self.files:
            code = NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.texts[path])
            headers, seen = None, set()
            uses = [(match.start(), match[1], WANTED.get(match[1])) for match in USE.finditer(code)]
            uses += [(match.start(), "fmt::" + match[1], "fmt/format.h") for match in re.finditer(r"(?<![\w:])fmt::(\w+)", code)]
            for at, name, header in uses:
                if header is None or name in seen:
                    continue
                seen.add(name)
                headers = headers if headers is not None else self.brought(path)
                if header not in headers and not headers.intersection(ALSO.get(name, ())):
                    found.append((path.relative_to(self.root), code.count("\n", 0, at) + 1, name, header))
        return found


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        room = pathlib.Path(folder).resolve() / "cli" / "src"
        room.mkdir(parents=True)
        (room / "names.h").write_text("#include <string>\nstd::string_view first();\n")
        (room / "good.cpp").write_text('#include "names.h"\n#include <vector>\nstd::vector<std::string> names;  // std::map\n')
        (room / "bad.cpp").write_text('#include "names.h"\n#include <algorithm>\nstd::string one;\n\nstd::vector<int> two;\n'
                                      'auto three = fmt::format("std::deque");\n')
        found = [(path.name, line, name, header) for path, line, name, header in Tree(folder).faults()]
    wanted = [("bad.cpp", 5, "vector", "vector"), ("bad.cpp", 6, "fmt::format", "fmt/format.h")]
    if found != wanted:
        sys.exit(f"includes_lint.py: planted faults are {wanted}, found are {found}")
    print("the planted missing includes are found, and no other")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip().splitlines()[-1])
    if sys.argv[1] == "--self-test":
        return self_test()
    tree = Tree(pathlib.Path(sys.argv[1]).resolve())
    found = tree.faults()
    for path, line, name, header in found:
        print(f"{path}:{line}: '{name}' is used, but nothing here includes <{header}>. Remedy: #include <{header}>")
    if found:
        sys.exit(1)
    print(f"{len(tree.files)} files include what they use of the standard library and fmt")
    return None


if __name__ == "__main__":
    main()
