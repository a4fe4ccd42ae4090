// Prints one line per strategy: name, summary, source, separated by tabs.
#include <cstdio>

#include "strategies/all.hpp"

int main() { return std::fputs(unisono::list_strategies().c_str(), stdout) < 0; }
