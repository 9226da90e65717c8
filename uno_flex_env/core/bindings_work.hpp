// Long work for Python: without its lock, shared by threads, and stopped by Ctrl-C.
#pragma once

#include "bindings.hpp"
#include "interrupt.hpp"
#include "pool.hpp"

/// Whether a signal handler has raised. Only Python's main thread runs them.
inline uno_flex_kernel::Interrupt::Answer ask_for_signals() {
    using Answer = uno_flex_kernel::Interrupt::Answer;
    nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) return Answer::stop;
    const nb::module_ threading = nb::module_::import_("threading");
    return threading.attr("get_ident")().equal(threading.attr("main_thread")().attr("ident")) ? Answer::go_on
                                                                                              : Answer::never;
}

/// Call work(interrupt), and throw what a signal handler has raised meanwhile.
template <class Work>
void interruptible(Work&& work) {
    uno_flex_kernel::Interrupt interrupt(ask_for_signals);
    work(interrupt);
    if (interrupt.stopped()) throw nb::python_error();
}

/// Call work(interrupt) without Python's lock, and throw what a signal handler has raised meanwhile.
template <class Work>
void unlocked(Work&& work) {
    interruptible([&](uno_flex_kernel::Interrupt& interrupt) {
        nb::gil_scoped_release release;
        work(interrupt);
    });
}

inline int checked_threads(int num_threads) {
    require(num_threads >= 1 && num_threads <= uno_flex_kernel::kMaxThreads,
            "num_threads must be from 1 to " + std::to_string(uno_flex_kernel::kMaxThreads) + ", got " +
                std::to_string(num_threads));
    return num_threads;
}
