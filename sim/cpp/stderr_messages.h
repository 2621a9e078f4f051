// Included ahead of every verilated source: the RTL's own messages go to standard error, since standard output
// belongs to the program (`--json`).
#pragma once

#include <cstdio>

#define VL_PRINTF(...) std::fprintf(stderr, __VA_ARGS__)
