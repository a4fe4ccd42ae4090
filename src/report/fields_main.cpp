// Prints what reports can say, for the command `unisono` and the tests of the documents.

#include <cstdio>

#include "report/report.hpp"

int main() { return std::puts(unisono::fields_json().c_str()) < 0 ? 1 : 0; }
