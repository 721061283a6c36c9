// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "alloc/staging_ring.h"
#include "data/host_copy.h"
#include "data/worker_pool.h"

namespace lacuna::rt {
namespace {

std::string whoFailed(int worker, std::uint64_t batch, const std::string& where, const char* what) {
  const std::string who = worker < 0 ? "the consumer" : "worker " + std::to_string(worker);
  return "DataLoader: " + who + " failed on batch " + std::to_string(batch) + where + ": " + what;
}

std::optional<Batch> fullBatch(const LoaderJob& job, const LoaderTask& task, int worker,
                               WorkerContext& context) {
  const auto staged = [&](const auto& make) {
    const StagingFill fill(job.staging, worker < 0, job.loader, worker, task.ticket);
    return make();
  };
  const auto getAll = [&] { return job.dataset->getBatch(task.indices, context); };
  if (job.dtype == DType::F32) return staged(getAll);
  std::optional<Batch> batch = getAll();
  if (!batch) return batch;
  return staged([&] {
    shorten(*batch, job.dtype);
    return std::move(batch);
  });
}

Batch fetch(const LoaderJob& job, const LoaderTask& task, int worker,
            const std::function<bool()>& stop, std::string& where) {
  std::vector<Example> examples;
  {
    LoaderScope scope(LoaderStage::Fetch, job.loader, worker, task.ticket);
    WorkerContext context(job.loader, worker, task.ticket, task.seeds.front(), &stop);
    if (std::optional<Batch> full = fullBatch(job, task, worker, context)) return std::move(*full);
    for (std::size_t i = 0; i < task.indices.size(); ++i) {
      where = ", example " + std::to_string(task.indices[i]);
      context.random = SampleRandom(task.seeds[i]);
      examples.push_back(job.dataset->get(task.indices[i], context));
      if (job.dtype != DType::F32) shorten(examples.back(), job.dtype);
    }
  }
  where = ", while collating";
  const StagingFill fill(job.staging, worker < 0, job.loader, worker, task.ticket);
  LoaderScope scope(LoaderStage::Collate, job.loader, worker, task.ticket);
  return job.collate(std::move(examples));
}

}  // namespace

LoaderOutcome runTask(const LoaderJob& job, const LoaderTask& task, int worker,
                      const std::function<bool()>& stop) {
  LoaderOutcome outcome{task.ticket, {}, {}};
  std::string where;
  try {
    outcome.batch = fetch(job, task, worker, stop, where);
  } catch (const std::exception& error) {
    outcome.error = whoFailed(worker, task.ticket, where, error.what());
  } catch (...) {
    outcome.error =
        whoFailed(worker, task.ticket, where, "an exception that is not a std::exception");
  }
  return outcome;
}

}  // namespace lacuna::rt
