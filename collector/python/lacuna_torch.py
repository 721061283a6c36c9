# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Watches a PyTorch program from inside, with no change to it: steps and their phases, operators and the backward graph,
modules, what the data loader does here and in its workers, memory. What is seen is said over NVTX in the schema of
docs/nvtx-schema.md by liblacuna_torch.so; here is only what decides when.

lacuna_start.py imports this file when the program itself has imported torch.
LACUNA_TORCH names the parts wanted, separated by commas (default: all)."""

import ctypes
import functools
import gc
import inspect
import os
import re
import sys
import threading
import time
import weakref

import lacuna_cost
import lacuna_frames

PARTS = ("operators", "shapes", "memory", "modules", "loader", "steps")
PHASE, MODULE = 2, 4  # categories of the schema
ROLES = {"other": 0, "parameter": 1, "gradient": 2, "activation": 3, "optimizer": 4, "input": 5}
_LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "liblacuna_torch.so")


# --- what says it ------------------------------------------------------------------------------------------------------


class Voice:
    """liblacuna_torch.so as Python functions. They are too short to be worth giving up the interpreter's lock for."""

    _FUNCTIONS = {
        "listening": ("lacunaTorchListening", (), ctypes.c_int),
        "observe": ("lacunaTorchObserve", (ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int), ctypes.c_int),
        "executions": ("lacunaTorchExecutions", (ctypes.c_int,), None),
        "expect_sequence": ("lacunaTorchExpectSequence", (ctypes.c_int64,), None),
        "settle_sequence": ("lacunaTorchSettleSequence", (), ctypes.c_int),
        "expect_inputs": (
            "lacunaTorchExpectInputs",
            (ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_uint32, ctypes.c_int),
            None,
        ),
        "settle_inputs": ("lacunaTorchSettleInputs", (), ctypes.c_int),
        "watch_memory": ("lacunaTorchWatchMemory", (ctypes.c_int,), ctypes.c_int),
        "role": ("lacunaTorchRole", (ctypes.c_uint32,), None),
        "tensor": (
            "lacunaTorchTensor",
            (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int32, ctypes.c_char_p),
            None,
        ),
        "open": ("lacunaTorchOpen", (ctypes.c_uint32, ctypes.c_char_p), ctypes.c_int),
        "open_step": ("lacunaTorchOpenStep", (ctypes.c_uint64, ctypes.c_uint64), ctypes.c_int),
        "open_loader": (
            "lacunaTorchOpenLoader",
            (ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int32),
            ctypes.c_int,
        ),
        "close": ("lacunaTorchClose", (ctypes.c_int,), None),
        "rehearse": ("lacunaTorchRehearse", (ctypes.c_int,), None),
        "knob": ("lacunaTorchKnob", (ctypes.c_char_p, ctypes.c_char_p), None),
        "loader_depth": ("lacunaTorchLoaderDepth", (ctypes.c_uint32, ctypes.c_int64), None),
        "name_thread": ("lacunaTorchNameThread", (ctypes.c_char_p,), None),
        "leave": ("lacunaTorchLeave", (), None),
    }

    def __init__(self, path):
        library = ctypes.PyDLL(path)
        for name, (symbol, arguments, result) in self._FUNCTIONS.items():
            function = getattr(library, symbol)
            function.argtypes = arguments
            function.restype = result
            setattr(self, name, function)


# --- steps and phases --------------------------------------------------------------------------------------------------


class Steps:
    """One iteration of training, from its first sign (a batch is asked for, a model is called) to the end of the step of
    one optimizer, the leader: the first that stepped, or the one that steps last before each batch, so that a game of two
    networks ends with the second one's part. When the leader is gone, or steps no more (a model for each fold), another
    takes its place. Phases are its load, forward, backward and optimizer parts."""

    PATIENCE = 16  # steps of others in a row that are nothing unusual, as of a critic that is trained more often
    PROOF = 3  # batches in a row before which another was last; a critic's steps have batches between them

    first_ns = None  # when this program's first step began; the package lacuna reads it

    def __init__(self, voice):
        self.voice = voice
        self.index = 0
        self.signs = 0  # of training, so far
        self.level = None
        self.thread = None
        self.leader = lambda: None  # the optimizer whose step ends a step, as long as the program keeps it
        self.others = 0  # steps of other optimizers since its last one
        self.most_others = 0  # between two of its steps
        self.last = lambda: None  # the optimizer that stepped last since a batch was asked for
        self.heir = lambda: None  # an optimizer that was last instead of the leader
        self.proofs = 0  # batches in a row before which it was
        self.process = os.getpid()

    def ours(self):
        return os.getpid() == self.process

    def begin(self, samples=0):
        self.signs += 1
        if self.level is not None or not self.ours():
            return
        if threading.current_thread() is not threading.main_thread():
            return
        if Steps.first_ns is None:
            Steps.first_ns = time.monotonic_ns()
        self.level = self.voice.open_step(self.index, samples)
        self.thread = threading.get_ident()

    def ask_for_batch(self):
        """A step begins, and shows which optimizer ended the one before."""
        if self.last() is not None and self.ours():
            self.proofs = self.proofs + 1 if self.last() is self.heir() else 1
            self.heir = self.last
            if self.proofs >= self.PROOF and self.heir() is not self.leader():
                self.leader = self.heir
                self.others = self.most_others = 0
            self.last = lambda: None
        self.begin()

    def end(self, optimizer):
        self.last = weakref.ref(optimizer)
        if self.leader() is None or self.others >= max(self.PATIENCE, 2 * self.most_others):
            self.leader = weakref.ref(optimizer)
            self.others = 0
        if self.leader() is not optimizer:
            self.others += 1
            return
        self.most_others = max(self.most_others, self.others)
        self.others = 0
        if self.level is None or self.thread != threading.get_ident():
            return
        self.voice.close(self.level)
        self.level = None
        self.index += 1


class Phase:
    """A phase while it is open. Memory handed out meanwhile gets its role."""

    def __init__(self, voice, name, role):
        self.voice = voice
        self.name = name
        self.role = ROLES[role]
        self.level = -1

    def __enter__(self):
        self.level = self.voice.open(PHASE, self.name)
        self.voice.role(self.role)
        return self

    def __exit__(self, *_):
        self.voice.role(0)
        self.voice.close(self.level)


class StackCost:
    """How long anomaly detection takes to keep the Python stack of one node of the graph: it formats the stack for each.
    Measured where it happens, in the innermost modules, for it depends on how deep they are called."""

    SAMPLES = 9

    def __init__(self, torch, voice):
        self.enabled = getattr(torch, "is_anomaly_enabled", lambda: False)
        self.voice = voice
        self.wanted = False
        self.samples = []

    def forward_begins(self):
        self.wanted = len(self.samples) < self.SAMPLES and self.enabled()

    def in_module(self, module):
        if getattr(module, "_modules", None):
            return
        import traceback  # only here, for few programs need it

        began = time.perf_counter_ns()
        traceback.format_stack()
        self.samples.append(time.perf_counter_ns() - began)
        if len(self.samples) == self.SAMPLES:
            self.wanted = False
            middle = sorted(self.samples)[self.SAMPLES // 2]
            self.voice.knob(b"debug.stack_ns", str(middle).encode())


class Modes:
    """Settings of PyTorch that change what every step costs. They are looked at where a backward pass begins, which is
    where they count (a program may switch them on around each pass, or for a validation), and told when they changed."""

    def __init__(self, torch, voice):
        self.torch = torch
        self.voice = voice
        self.told = {}
        self.anomaly = getattr(torch, "is_anomaly_enabled", lambda: False)
        autograd = getattr(getattr(torch, "_C", None), "_autograd", None)
        self.profiler = getattr(autograd, "_profiler_type", lambda: None)
        # The driver reads it once, when it starts.
        self.blocking = os.environ.get("CUDA_LAUNCH_BLOCKING", "0") not in ("", "0")

    def on_gpu(self):
        cuda = getattr(self.torch, "cuda", None)
        return cuda is not None and cuda.is_initialized()

    def debug(self):
        if self.anomaly():
            return "anomaly detection"
        if getattr(self.profiler(), "name", "") == "NVTX":
            return "emit_nvtx"
        return "blocking launches" if self.blocking and self.on_gpu() else "off"

    def autotune(self):
        """cuDNN's search. On the CPU there is none."""
        if not self.on_gpu():
            return None
        return "on" if self.torch.backends.cudnn.benchmark else "off"

    def tell(self):
        try:
            found = {"debug": self.debug(), "autotune": self.autotune()}
        except Exception:  # a version of PyTorch that keeps them elsewhere; the program goes on
            self.tell = lambda: None
            return
        for name, value in found.items():
            if value is not None and self.told.get(name) != value:
                self.told[name] = value
                self.voice.knob(name.encode(), value.encode())


def install_backward(torch, voice, steps):
    original = torch.autograd.backward
    modes = Modes(torch, voice)

    @functools.wraps(original)
    def backward(*arguments, **named):
        steps.begin()
        modes.tell()
        with Phase(voice, b"backward", "gradient"):
            return original(*arguments, **named)

    backward._torchdynamo_disable = True
    torch.autograd.backward = backward


def install_optimizer(torch, voice, steps):
    """PyTorch's own hooks around every optimizer's step. A step that raises leaves its phase open until the next range
    of this thread that encloses it is closed."""
    hooks = sys.modules["torch.optim.optimizer"]
    open_phases = {}
    attributed = {}  # by id, which goes to another when its owner is gone

    def before(optimizer, arguments, named):
        steps.begin()
        phase = Phase(voice, b"optimizer", "optimizer")
        open_phases[id(optimizer), threading.get_ident()] = phase
        phase.__enter__()

    def after(optimizer, arguments, named):
        phase = open_phases.pop((id(optimizer), threading.get_ident()), None)
        if phase is not None:
            phase.__exit__()
        known = attributed.get(id(optimizer))
        if known is None or known() is not optimizer:
            attributed[id(optimizer)] = weakref.ref(optimizer)
            attribute_memory(voice, optimizer)
        steps.end(optimizer)

    hooks.register_optimizer_step_pre_hook(before)
    hooks.register_optimizer_step_post_hook(after)


def install_checkpoint(torch, voice, steps):
    """torch.save, and what the program waits for behind it until the file is on the disk, before training goes on."""
    saved = None  # by which thread, at which sign of training

    def now():
        return threading.get_ident(), steps.signs

    def saves(original):
        @functools.wraps(original)
        def save(*arguments, **named):
            nonlocal saved
            with Phase(voice, b"checkpoint", "other"):
                result = original(*arguments, **named)
            saved = now()
            return result

        return save

    def syncs(original):
        @functools.wraps(original)
        def sync(*arguments, **named):
            if saved != now():
                return original(*arguments, **named)
            with Phase(voice, b"checkpoint sync", "other"):
                return original(*arguments, **named)

        return sync

    if hasattr(torch, "save"):
        torch.save = saves(torch.save)
        for name in ("fsync", "fdatasync"):
            if hasattr(os, name):
                setattr(os, name, syncs(getattr(os, name)))


def install_garbage_collection(voice):
    """A range for each collection of all generations; of the young ones, which take microseconds, there are thousands."""
    oldest = len(gc.get_threshold()) - 1
    levels = {}

    def collects(phase, info):
        thread = threading.get_ident()
        if phase == "start" and info["generation"] >= oldest:
            levels[thread] = voice.open(PHASE, b"garbage collection")
        elif phase == "stop" and thread in levels:
            voice.close(levels.pop(thread))

    gc.callbacks.append(collects)


def attribute_memory(voice, optimizer):
    """After an optimizer's first step it is known what its long-lived memory is for."""

    def say(tensor, role, name):
        storage = tensor.untyped_storage()
        device = tensor.device.index if tensor.device.type == "cuda" else -1
        voice.tensor(storage.data_ptr(), storage.nbytes(), ROLES[role], device or 0 if device != -1 else -1, name)

    try:
        for number, group in enumerate(optimizer.param_groups):
            for position, parameter in enumerate(group["params"]):
                name = f"group{number}.{position}"
                say(parameter, "parameter", name.encode())
                for key, value in optimizer.state.get(parameter, {}).items():
                    if hasattr(value, "untyped_storage") and value.numel() > 1:
                        say(value, "optimizer", f"{name}.{key}".encode())
    except Exception:  # exotic tensors have no storage; their memory keeps the role of its phase
        pass


# --- modules -----------------------------------------------------------------------------------------------------------


class Modules:
    """A range for every module's forward, named by its path in the outermost module called; the outermost one with
    gradients switched on is the forward phase, and in evaluation mode, with or without gradients, the evaluation."""

    def __init__(self, torch, voice, steps):
        self.torch = torch
        self.voice = voice
        self.steps = steps
        self.paths = {}
        self.local = threading.local()
        self.handles = []
        modules = torch.nn.modules
        self.norms = self.kinds(modules, ("batchnorm", "_BatchNorm"))
        self.biased = self.kinds(modules, ("linear", "Linear"), ("conv", "_ConvNd"))
        self.stack_cost = StackCost(torch, voice)

    @staticmethod
    def kinds(modules, *names):
        found = (getattr(getattr(modules, file, None), name, None) for file, name in names)
        return tuple(kind for kind in found if kind is not None)

    def install(self):
        self.resume()
        self.install_compile()

    def resume(self):
        module = self.torch.nn.modules.module
        before, after = self.before, self.after
        try:
            after_handle = module.register_module_forward_hook(after, always_call=True)
        except TypeError:  # PyTorch before 2.0
            after_handle = module.register_module_forward_hook(after)
        self.local = threading.local()
        self.handles = [module.register_module_forward_pre_hook(before), after_handle]

    def pause(self):
        """Removes the hooks. False when there were none, as after torch.compile."""
        handles, self.handles = self.handles, []
        for handle in handles:
            handle.remove()
        return bool(handles)

    def install_compile(self):
        """Hooks inside compiled code would cut it into pieces, so they go when the program compiles for the first time;
        the compiled function's calls are then the forward phase."""
        original = getattr(self.torch, "compile", None)
        if original is None:
            return

        @functools.wraps(original)
        def compile(*arguments, **named):
            self.pause()
            return original(*arguments, **named)

        self.torch.compile = compile

    def path(self, module):
        found = self.paths.get(id(module))
        return found[1] if found is not None and found[0]() is module else type(module).__name__.encode()

    def learn(self, root):
        known = self.paths.get(id(root))
        if known is not None and known[0]() is root:
            return
        kind = type(root).__name__
        for path, module in root.named_modules():
            name = f"{kind}.{path}" if path else kind
            self.paths[id(module)] = (weakref.ref(module), name.encode())

    def before(self, module, arguments):
        stack = self.local.__dict__.setdefault("stack", [])
        if not stack:
            if not getattr(module, "training", True):
                stack.append((None, self.voice.open(PHASE, b"evaluation")))
            elif self.torch.is_grad_enabled():
                self.steps.begin()
                stack.append((None, self.voice.open(PHASE, b"forward")))
                self.voice.role(ROLES["activation"])
                self.stack_cost.forward_begins()
            self.learn(module)
        if self.norms and isinstance(module, self.norms):
            self.look_for_bias(module)
        if self.stack_cost.wanted:
            self.stack_cost.in_module(module)
        stack.append((module, self.voice.open(MODULE, self.path(module))))

    def look_for_bias(self, norm):
        """A batch norm subtracts the bias again that the layer in front of it adds."""
        layer = self.local.__dict__.get("leaf")
        if isinstance(layer, self.biased) and getattr(layer, "bias", None) is not None:
            self.norms = ()  # once is enough
            self.voice.knob(b"conv_bias", b"on")

    def after(self, module, arguments, result):
        stack = self.local.__dict__.get("stack")
        if not stack:
            return
        while stack:
            owner, level = stack.pop()
            if owner is module:
                self.voice.close(level)
                if self.norms and not getattr(module, "_modules", None):
                    self.local.leaf = module
                break
        if len(stack) == 1 and stack[0][0] is None:
            self.voice.close(stack.pop()[1])
            self.voice.role(0)


# --- the data loader ---------------------------------------------------------------------------------------------------


class Loader:
    """The consumer's wait for a batch; in the workers the fetch, its collation, and the wait for the next order."""

    # Tells a worker which loader it works for, among what Python hands on to each process that is started: one that is
    # spawned or comes from a fork server knows nothing of its parent's.
    KEY = "lacuna_loader"

    def __init__(self, torch, voice, steps):
        self.torch = torch
        self.voice = voice
        self.steps = steps
        self.loaders = 0
        self.described = set()  # numbers of those whose settings were sent
        self.training_told = False
        self.worker = -1
        self.number = 0
        self.batch = 0

    @staticmethod
    def handed_on():
        from multiprocessing import process  # here, for a program without PyTorch need not pay for it

        return getattr(process.current_process(), "_config", {})

    def install(self):
        dataloader = self.torch.utils.data.dataloader
        utils = dataloader._utils
        self.install_consumer(dataloader._BaseDataLoaderIter)
        self.install_start(dataloader.DataLoader)
        self.install_fetch(utils.fetch)
        self.install_worker(utils.worker)

    def install_consumer(self, iterator):
        original_init, original_next = iterator.__init__, iterator.__next__
        loader = self

        @functools.wraps(original_init)
        def __init__(self, source, *arguments, **named):
            self._lacuna_loader = loader.number_of(source)
            loader.number = self._lacuna_loader
            self._lacuna_batch = 0
            # It stays there: workers are started when this, which is the base class's, has returned.
            loader.handed_on()[loader.KEY] = loader.number
            original_init(self, source, *arguments, **named)

        @functools.wraps(original_next)
        def __next__(self):
            return loader.wait(self, original_next)

        iterator.__init__ = __init__
        iterator.__next__ = __next__

    def number_of(self, source):
        number = getattr(source, "_lacuna_loader", None)
        if number is None:
            number = self.loaders
            try:
                source._lacuna_loader = number
            except AttributeError:
                pass
        self.loaders = max(self.loaders, number + 1)  # an earlier recording may have given it
        if number not in self.described:
            self.described.add(number)
            self.say_knobs(source)
        return number

    def install_start(self, dataloader):
        original = dataloader.__iter__
        loader = self

        @functools.wraps(original)
        def __iter__(self):
            # Workers that are kept begin the next epoch when they have given up the last one.
            if not getattr(self, "num_workers", 0):
                return original(self)
            number = getattr(self, "_lacuna_loader", loader.loaders)
            with Phase(loader.voice, b"load", "input"):
                level = loader.voice.open_loader(b"start", 0, number, -1)
                try:
                    return original(self)
                finally:
                    loader.voice.close(level)

        dataloader.__iter__ = __iter__

    def wait(self, iterator, original_next):
        voice = self.voice
        number = getattr(iterator, "_lacuna_loader", 0)
        # Without gradients it is a validation, whose batches are no part of the training step that follows.
        used_up = self.used_up(iterator)
        if self.torch.is_grad_enabled() and not used_up:
            self.steps.ask_for_batch()
        self.say_depth(iterator, number)
        yielded = getattr(iterator, "_num_yielded", None)
        # Workers that are kept for the next epoch count from 0 again, too. An iterator may be older than the recording.
        if yielded == 0 or not hasattr(iterator, "_lacuna_batch"):
            iterator._lacuna_batch = yielded or 0
        self.batch = iterator._lacuna_batch
        self.number = number
        with Phase(voice, b"load", "input"):
            # Behind the last batch the workers are ended.
            level = voice.open_loader(b"stop" if used_up else b"wait", self.batch, number, -1)
            try:
                batch = original_next(iterator)
                iterator._lacuna_batch += 1
                return batch
            finally:
                voice.close(level)

    @staticmethod
    def used_up(iterator):
        """True when the next batch would be one more than there are: no step begins with the end of an epoch."""
        try:
            return iterator._num_yielded >= len(iterator)
        except (AttributeError, TypeError, NotImplementedError):
            return False

    def say_knobs(self, source):
        # The settings that are sent last are those of the run: a validation's, without gradients, must not be.
        training = self.torch.is_grad_enabled()
        if self.training_told and not training:
            return
        self.training_told = training
        batch = source.batch_size or getattr(getattr(source, "batch_sampler", None), "batch_size", None)
        knobs = {
            "loader.workers": source.num_workers,
            "loader.prefetch": source.prefetch_factor or 0,
            "loader.pin": "on" if source.pin_memory else "off",
        }
        if batch:
            knobs["batch"] = batch
        for name, value in knobs.items():
            self.voice.knob(name.encode(), str(value).encode())

    def say_depth(self, iterator, number):
        """Batches that are ready: in the queue, and those that came out of order."""
        try:
            ready = iterator._data_queue.qsize()
            ready += sum(1 for task in iterator._task_info.values() if len(task) == 2)
        except (AttributeError, NotImplementedError, OSError):
            return
        self.voice.loader_depth(number, ready)

    def install_fetch(self, fetch):
        loader = self
        for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
            fetcher = getattr(fetch, name)
            fetcher.fetch = loader.staged(fetcher.fetch, b"fetch")
        original = fetch._BaseDatasetFetcher.__init__

        @functools.wraps(original)
        def __init__(self, *arguments, **named):
            original(self, *arguments, **named)
            self.collate_fn = loader.staged(self.collate_fn, b"collate")

        fetch._BaseDatasetFetcher.__init__ = __init__

    def staged(self, function, stage):
        def call(*arguments, **named):
            level = self.voice.open_loader(stage, self.batch, self.number, self.worker)
            try:
                return function(*arguments, **named)
            finally:
                self.voice.close(level)

        return functools.wraps(function)(call) if hasattr(function, "__name__") else call

    def install_worker(self, module):
        original = module._worker_loop
        signature = inspect.signature(original)
        loader = self

        @functools.wraps(original)
        def _worker_loop(*arguments, **named):
            bound = signature.bind(*arguments, **named)
            loader.worker = bound.arguments["worker_id"]
            loader.number = loader.handed_on().get(loader.KEY, loader.number)
            lacuna_frames.work_for_another()
            loader.voice.executions(0)  # what a worker runs is preparation, not the device's work
            loader.voice.name_thread(f"DataLoader worker {loader.worker}".encode())
            bound.arguments["index_queue"] = Orders(loader, bound.arguments["index_queue"])
            return original(*bound.args, **bound.kwargs)

        module._worker_loop = _worker_loop


class Orders:
    """A worker's queue of orders. While the worker waits for one, all that was asked for is ready: it waits for room."""

    def __init__(self, loader, queue):
        self._loader = loader
        self._queue = queue

    def get(self, *arguments, **named):
        loader = self._loader
        level = loader.voice.open_loader(b"put", loader.batch, loader.number, loader.worker)
        try:
            order = self._queue.get(*arguments, **named)
        finally:
            loader.voice.close(level)
        if isinstance(order, tuple) and order and isinstance(order[0], int):
            loader.batch = order[0]
        return order

    def __getattr__(self, name):
        return getattr(self._queue, name)


# --- operators and memory ----------------------------------------------------------------------------------------------


_CALLBACK = (
    "StartCallback start_; EndCallback end_; double sampling_prob_ = 1.0; "
    "std::array<bool, static_cast<size_t>(RecordScope::NUM_SCOPES)> scopes_ = {}; "
    "bool needs_inputs_ = false; bool needs_outputs_ = false; bool needs_ids_ = false;"
)
_CALLS = (
    "using StartCallback = std::unique_ptr<ObserverContext> (*)(const RecordFunction&);",
    "using EndCallback = void (*)(const RecordFunction&, ObserverContext*);",
    "const char* name() const;",
    "CallbackHandle addGlobalCallback( RecordFunctionCallback cb);",
)


def squeezed(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"\(\s+", "(", text)


def read_layout(header):
    """The record scopes of PyTorch's own header, in order; None when it does not declare what liblacuna_torch.so was
    written for, which is then not to be registered."""
    text = squeezed(header)
    scopes = re.search(r"enum class (?:C10_API_ENUM )?RecordScope : uint8_t \{(.*?)\}", text)
    callback = re.search(r"class (?:TORCH_API )?RecordFunctionCallback \{.*?private: (.*?;) \};", text)
    if scopes is None or callback is None or callback.group(1).strip() != _CALLBACK:
        return None
    if any(squeezed(call) not in text for call in _CALLS):
        return None
    names = [re.sub(r"\s*=.*", "", name).strip() for name in scopes.group(1).split(",")]
    names = [name for name in names if name]
    if names[:2] != ["FUNCTION", "BACKWARD_FUNCTION"] or names[-1] != "NUM_SCOPES" or "USER_SCOPE" not in names:
        return None
    return names[:-1]


def install_operators(torch, voice, cpu_only, with_inputs):
    """Why operators are not observed, or None when they are."""
    header = os.path.join(os.path.dirname(torch.__file__), "include", "ATen", "record_function.h")
    try:
        with open(header, encoding="utf-8") as file:
            scopes = read_layout(file.read())
    except OSError:
        return f"{header} is not there, so it is not known how to register"
    if scopes is None:
        return f"PyTorch {torch.__version__} declares its observers in a way that this version does not know"
    result = voice.observe(len(scopes), scopes.index("USER_SCOPE"), with_inputs)
    if result != 0:
        return f"libtorch_cpu.so is not loaded or has no observers ({result})"
    find_sequence(torch, voice)
    voice.executions(cpu_only)
    return None


def find_sequence(torch, voice):
    """Shows the observer three operators whose sequence numbers are known, so that it finds where they are kept."""
    peek = getattr(torch.autograd, "_get_sequence_nr", None) or getattr(torch._C._autograd, "_get_sequence_nr", None)
    if peek is None:
        return
    with torch.enable_grad():
        tensor = torch.ones(1, requires_grad=True)
        for _ in range(3):
            voice.expect_sequence(peek())
            tensor.neg()
    voice.settle_sequence()


def find_inputs(torch, voice):
    """Shows the observer operators on tensors whose shapes and types are known, so that it finds where PyTorch keeps the
    inputs of operators. False when it did not."""
    try:
        for shape, dtype, number in (
            ((3, 5, 7), torch.float32, 6),
            ((11, 2, 13), torch.float64, 7),
            ((17, 4, 9), torch.int64, 4),
        ):
            first, second = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
            sizes = (ctypes.c_int64 * 3)(*shape)
            voice.expect_inputs(first._cdata, second._cdata, sizes, number, 0)
            first.add(second)
            voice.expect_inputs(first._cdata, second._cdata, sizes, number, 1)
            torch.cat([first, second])
    finally:
        found = voice.settle_inputs() != 0
    return found


def runs_on_cpu_only(torch):
    """Not torch.cuda.is_available(): it would start the driver before the program forks."""
    return torch.version.cuda is None or not os.path.exists("/dev/nvidiactl")


# --- putting it in place -----------------------------------------------------------------------------------------------

_modules = None  # the Modules of this program
_paused = False


def pause():
    """For a program that records itself: it has ended that for now."""
    global _paused
    if _modules is not None and _modules.pause():
        _paused = True


def resume():
    """It records itself again."""
    global _paused
    if _paused:
        _paused = False
        _modules.resume()


def install(torch, voice, parts=PARTS, steps=None):
    """Watches this torch. Each part alone: what a version of PyTorch does not have costs that part only. `steps` have been
    counted so far where the program was on standby."""
    steps = steps or Steps(voice)
    cpu_only = runs_on_cpu_only(torch)
    observed = False

    def operators():
        nonlocal observed
        why = install_operators(torch, voice, cpu_only, "shapes" in parts)
        if why is not None:
            raise RuntimeError(why)
        observed = True

    def shapes():
        if observed and not find_inputs(torch, voice):
            raise RuntimeError(f"PyTorch {torch.__version__} keeps the inputs of operators in a way that is not known")

    def memory():
        if voice.watch_memory(cpu_only) == 0:
            raise RuntimeError("no allocator reports")

    def steps_and_phases():
        install_backward(torch, voice, steps)
        install_optimizer(torch, voice, steps)
        install_checkpoint(torch, voice, steps)
        install_garbage_collection(voice)

    def modules():
        global _modules
        _modules = Modules(torch, voice, steps)
        _modules.install()

    installers = {
        "operators": operators,
        "shapes": shapes,
        "memory": memory,
        "modules": modules,
        "loader": lambda: Loader(torch, voice, steps).install(),
        "steps": steps_and_phases,
    }
    voice.knob(b"torch.version", str(getattr(torch, "__version__", "?")).encode())
    with lacuna_cost.OwnCost(torch, voice):
        for part in parts:
            try:
                installers[part]()
            except Exception as error:
                voice.knob(f"torch.{part}".encode(), f"not recorded: {error}".encode())
                print(f"lacuna: PyTorch's {part} are not recorded: {error}", file=sys.stderr)


def wanted_parts(text):
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word not in PARTS]
    if unknown:
        print(f"lacuna: LACUNA_TORCH does not know {', '.join(unknown)}. Known: {', '.join(PARTS)}.", file=sys.stderr)
    return tuple(part for part in PARTS if part in words) if words else PARTS


def watch(torch):
    """Puts everything in place in a program that has imported torch."""
    try:
        voice = Voice(_LIBRARY)
        if voice.listening():
            install(torch, voice, wanted_parts(os.environ.get("LACUNA_TORCH", "")))
    except Exception as error:
        print(f"lacuna: PyTorch is not watched: {error}", file=sys.stderr)
