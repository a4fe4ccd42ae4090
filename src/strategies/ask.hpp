#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "unisono/plan.hpp"

namespace unisono {

/// What a function of the strategy's returns. Whatever it throws becomes a std::exception that
/// names the strategy: a plug-in's code is nobody's that we know. Memory that is missing stays
/// that.
template <class Function, class... Arguments>
auto ask(Strategy const& strategy, Function const& function, Arguments const&... arguments) {
    auto const said = [&](char const* what) {
        return std::runtime_error{"strategy " + std::string{strategy.name} + ": " + what};
    };
    try {
        return function(arguments...);
    } catch (std::bad_alloc const&) {
        throw;
    } catch (std::exception const& exception) {
        throw said(exception.what());
    } catch (abi::__forced_unwind const&) {  // the thread is cancelled
        throw;
    } catch (...) {
        throw said("it threw what is no std::exception");
    }
}

inline std::uint64_t ask_cell_bytes(Strategy const& strategy, Facts const& facts,
                                    Options const& options) {
    return strategy.cell_bytes == nullptr ? 0 : ask(strategy, strategy.cell_bytes, facts, options);
}

}  // namespace unisono
