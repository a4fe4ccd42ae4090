// Reads that repeat, without meetings.
//
//   call      1        2          3   4   5  ...               n        n + 1
//   ranks     agree    agree      each copies what it asks     agree
//                      and open   for; one in turn reads on    and open anew
//
// As for writes (deposit.cpp) a window of blocks is open for calls that go on like those before.
// The rank that comes first to a block reads all of it, in one go, also what nobody has asked for
// yet; others that come meanwhile wait for that file access alone, so no rank waits for another
// one's program. Then a call is a copy from shared memory. Bytes of the block that are known stay
// as they are: what ranks of this file have written is newer than the file, or as new.
//
// Where nobody can write through the file, the window is not as long as its memory: its blocks take
// turns in few buffers, which stay warm. Each rank tells how far it has got, and whoever reads a
// block begins its turn when all are past the one before. A rank that would wait long for another
// one's program reads by itself.
//
// Between nodes reads are agreed on: there each node would read what others read, too.
// Consistency is MPI's: a sync, a close, a new size drain, and that forgets the blocks; a
// collective write ends the window; independent writes go to the file and to the block. What other
// programs write is seen after that, as it is by reads that are agreed on. An end of the file that
// was found is looked for anew by the next call that wants to go beyond it. A file error is the
// error of the rank that cannot get what it asks for, by itself: a bad byte in the block that
// nobody wants is none. Source: View-based collective I/O (CCGrid 2008), section IV, has buffers
// that reads find full; to read ahead, and not to meet, is ours.

#include "execute/cached/cached_file.hpp"

namespace unisono {

IoResult CachedFile::withdraw(Request const& request, CallRecord& record) {
    if (window_.direct) return move_directly(request, record);
    std::lock_guard const lock{mutex_};
    auto const call = LastCalls::look_at(request, record);
    if (may_be_stale_ || !fits(request, call.touched)) {
        misfit_ = true;
        reader_.leave_turns();
        return independent(request, request.positions, record);
    }
    last_calls_.note(request.direction, call);
    if (call.bytes == 0) {
        reader_.leave_turns();
        return {};
    }
    auto const copied = reader_.copy(request, call.touched, record);
    if (reader_.has_left()) misfit_ = true;
    // The end of the file, or an error: whichever it is, this rank sees it by itself.
    IoResult result;
    Positions const rest{request.positions.begin + copied, request.positions.end};
    if (!rest.empty()) result = independent(request, rest, record);
    result.bytes += copied;
    reader_.read_ahead(call.touched.end);
    write_behind(record, calls_dirty_usually);
    return result;
}

}  // namespace unisono
