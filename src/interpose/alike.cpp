#include "interpose/alike.hpp"

#include <array>
#include <string>

#include "interpose/errors.hpp"
#include "support/hash.hpp"

namespace unisono::interpose {

CallArguments arguments_with(File& file, std::span<std::uint64_t const> arguments, int refusal) {
    return {.objection = {.refusal = refusal, .refusing_rank = file.team().rank()},
            .digest = Digest{hash64(arguments)}};
}

int refuse_unless_alike(File& file, CallArguments const& agreed, char const* call,
                        char const* fault) {
    if (agreed.objection.refusal != 0)
        return fail(
            file, agreed.objection.refusal, call,
            std::string{fault} + " on rank " + std::to_string(agreed.objection.refusing_rank));
    if (!agreed.digest.alike())
        return fail(file, MPI_ERR_NOT_SAME, call, "ranks give different arguments");
    return MPI_SUCCESS;
}

int agree_on_argument(File& file, std::int64_t argument, int refusal, char const* call,
                      char const* fault) {
    std::array const arguments{static_cast<std::uint64_t>(argument)};
    auto all = arguments_with(file, arguments, refusal);
    file.meet(all);
    return refuse_unless_alike(file, all, call, fault);
}

}  // namespace unisono::interpose
