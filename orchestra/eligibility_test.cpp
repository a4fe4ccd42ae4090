#include "orchestra/eligibility.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "orchestra/fairness.hpp"

namespace unisono::orchestra {
namespace {

struct Case {
    std::vector<double> all{1000, 1100, 900};
    std::vector<double> own{128, 128, 128};
    std::vector<double> reuse{3, 4, 5};
    std::vector<double> seek{4, 4, 5};

    [[nodiscard]] EligibilityConditions check() const {
        return check_conditions(
            {.all_gaps = all, .own_gaps = own, .reuse_ms = reuse, .seek_ms = seek});
    }
};

// Derivation: mean SL 1000, deviations 0, 100, -100: sqrt(20000 / 3) = 81.65, that is 8.2 % < 20 %.
//   Ratio 3000 / 384 = 7.8125 >= 1.5. Mean RD 4 <= mean SeekTime 13/3.
TEST(EligibilityConditions, all_three_conditions_by_hand) {
    auto const result = Case{}.check();
    std::printf(
        "expectation: dispersion 0.0816, ratio 7.8125, RD 4, seek 4.3333\n"
        "result:      dispersion %.4f, ratio %g, RD %g, seek %.4f\n",
        result.all_dispersion, result.ratio, result.reuse_ms, result.seek_ms);
    EXPECT_NEAR(result.all_dispersion, std::sqrt(20000.0 / 3) / 1000, 1e-12);
    EXPECT_DOUBLE_EQ(result.own_dispersion, 0);
    EXPECT_DOUBLE_EQ(result.ratio, 7.8125);
    EXPECT_TRUE(result.eligible());
    EXPECT_EQ(describe(result), "eligible");
}

// Deviations of 200 on 1000 at two servers of two: exactly 20 %, which is not less.
TEST(EligibilityConditions, condition_1_wants_less_than_a_fifth) {
    Case at_the_limit{.all = {800, 1200}, .own = {1, 1}, .reuse = {}, .seek = {9, 9}};
    EXPECT_FALSE(at_the_limit.check().consistent);
    at_the_limit.all = {801, 1199};
    EXPECT_TRUE(at_the_limit.check().consistent);
    at_the_limit.own = {1, 2};
    EXPECT_EQ(describe(at_the_limit.check()).substr(0, 2), "1:");
}

TEST(EligibilityConditions, condition_2_takes_one_and_a_half) {
    Case at_the_limit{.all = {150, 150}, .own = {100, 100}, .reuse = {}, .seek = {9, 9}};
    EXPECT_TRUE(at_the_limit.check().eligible());
    at_the_limit.own = {101, 101};
    EXPECT_EQ(describe(at_the_limit.check()), "2: alone only 1.49 times as local; limit 1.5");
}

TEST(EligibilityConditions, condition_3_is_not_asked_before_there_is_a_reuse_distance) {
    Case far{.reuse = {}, .seek = {0, 0, 0}};
    EXPECT_TRUE(far.check().eligible());
    far.reuse = {1};
    EXPECT_EQ(describe(far.check()), "3: reuse distance 1.00 ms above seek time 0.00 ms");
}

TEST(EligibilityConditions, without_gaps_nothing_is_divided_by_zero) {
    Case const sequential{.own = {0, 0, 0}};
    EXPECT_TRUE(sequential.check().eligible()) << "infinitely more local than all together";
    Case const nobody{.all = {0, 0}, .own = {0, 0}, .reuse = {}, .seek = {}};
    EXPECT_DOUBLE_EQ(nobody.check().ratio, 1);
    EXPECT_FALSE(nobody.check().eligible());
    EXPECT_FALSE(check_conditions({}).eligible());
}

// Jain: (1 + 2 + 3)^2 / (3 * (1 + 4 + 9)) = 36 / 42.
TEST(Fairness, jains_index_by_hand) {
    EXPECT_DOUBLE_EQ(jain_index(std::array{1.0, 2.0, 3.0}), 36.0 / 42);
    EXPECT_DOUBLE_EQ(jain_index(std::array{5.0, 5.0}), 1);
    EXPECT_DOUBLE_EQ(jain_index(std::array{5.0, 0.0}), 0.5);
    EXPECT_DOUBLE_EQ(jain_index({}), 1);
}

}  // namespace
}  // namespace unisono::orchestra
