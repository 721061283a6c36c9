// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

/// Benchmarks compare processes: the runtime, the runtime under `lacuna run`, and libtorch each
/// serve the same named workloads, and the benchmark asks them in turns.
namespace bench {

/// Does `count` operators, or steps, and returns when all of them have run.
using Workload = std::function<void(int count)>;
using Workloads = std::map<std::string, std::function<Workload()>>;
/// Measurements of something else than time.
using Values = std::map<std::string, std::function<double()>>;

/// Reads lines "NAME COUNT" from stdin, runs that, and answers with the nanoseconds it took. A
/// workload is made when it is first asked for; the making is not timed. A name of `values` is
/// answered with that value.
int serve(const Workloads& workloads, const Values& values = {});

}  // namespace bench
