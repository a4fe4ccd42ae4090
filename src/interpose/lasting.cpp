// The program may use files until the very end of its process: in destructors, and in functions for
// atexit() that it has named before its first file. What is destroyed at the end of a process has
// named itself since, and would go before these: so nothing of the engine's, nor of the C++ library
// in it, is.
// NOLINTNEXTLINE(bugprone-reserved-identifier, readability-identifier-naming): the C++ ABI's name
extern "C" int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
