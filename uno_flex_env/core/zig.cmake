# A toolchain for machines without a C++ compiler: the one inside the Python package ziglang. Used through the
# environment, CMAKE_TOOLCHAIN_FILE naming this file and ZIG the program: in pip's isolated builds `python -m ziglang`
# is not found.
set(ZIG "$ENV{ZIG}" CACHE FILEPATH "The zig program inside the package ziglang")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG)

# Without -mcpu=baseline zig compiles for this machine's own processor, and the baseline kernel would not run elsewhere.
set(CMAKE_CXX_COMPILER ${ZIG} c++ -mcpu=baseline)
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_AR> ranlib <TARGET>")
set(CMAKE_AR ${ZIG} CACHE FILEPATH "")
set(CMAKE_RANLIB ${ZIG} CACHE FILEPATH "")
