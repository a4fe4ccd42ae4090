#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <stdexcept>

namespace unisono::orchestra {

/// Reads a daemon's command line. Asked for help, it prints it and ends the process; throws
/// std::runtime_error that names the mistake.
inline void read_command_line(CLI::App& app, int argc, char** argv) {
    try {
        app.parse(argc, argv);
    } catch (CLI::CallForHelp const& help) {
        std::exit(app.exit(help));
    } catch (CLI::ParseError const& error) {
        throw std::runtime_error(error.what());
    }
}

}  // namespace unisono::orchestra
