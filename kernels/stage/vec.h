// Vectors for CPU kernels that are written once: AVX2 on x86, NEON on arm64. VEC_BYTES is defined
// where there are any; elsewhere, and on an x86 CPU without AVX2, the kernels' plain loops do the
// work.
//
// A function that uses vectors is VEC, or VEC_TARGET if it is called by others; call the latter
// only where vec_supported(). Besides the functions here vectors have the operators of C, which
// work on each element: a > b is -1 where it holds and 0 elsewhere. Pixels of a row are bytes in
// order, or words of the even pixels and words of the odd ones: that takes no instruction to widen
// them in order and to narrow them again.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#define VEC_BYTES 32
#define VEC_TARGET __attribute__((target("avx2,fma")))
#elif defined(__aarch64__)
#include <arm_neon.h>
#define VEC_BYTES 16
#define VEC_TARGET
#endif

#ifdef VEC_BYTES
#define VEC static inline __attribute__((always_inline)) VEC_TARGET

#define VEC_WORDS (VEC_BYTES / 2)
#define VEC_LONGS (VEC_BYTES / 4)

#ifdef __x86_64__
typedef uint8_t vec_bytes __attribute__((vector_size(VEC_BYTES)));
typedef int16_t vec_words __attribute__((vector_size(VEC_BYTES)));
typedef uint16_t vec_unsigned_words __attribute__((vector_size(VEC_BYTES)));
typedef int32_t vec_longs __attribute__((vector_size(VEC_BYTES)));

// The squares that vec_squares() makes of words: those of the low and the high halves of both 128
// bits.
typedef struct {
    __m256i low, high;
} vec_sums;

static inline bool vec_supported(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
typedef uint8x16_t vec_bytes;
typedef int16x8_t vec_words;
typedef uint16x8_t vec_unsigned_words, vec_sums;
typedef int32x4_t vec_longs;

static inline bool vec_supported(void)
{
    return true;
}
#endif

typedef struct {
    vec_words first, second;
} vec_pair;

VEC vec_bytes vec_load(const uint8_t *from)
{
    vec_bytes bytes;

    memcpy(&bytes, from, sizeof bytes);
    return bytes;
}

VEC vec_words vec_load_words(const int16_t *from)
{
    vec_words words;

    memcpy(&words, from, sizeof words);
    return words;
}

VEC vec_longs vec_load_longs(const int32_t *from)
{
    vec_longs longs;

    memcpy(&longs, from, sizeof longs);
    return longs;
}

VEC void vec_store(uint8_t *to, vec_bytes bytes)
{
    memcpy(to, &bytes, sizeof bytes);
}

// The even and the odd bytes, as words.
VEC vec_words vec_even(vec_bytes bytes)
{
    return (vec_words)bytes & 255;
}

VEC vec_words vec_odd(vec_bytes bytes)
{
    return (vec_words)((vec_unsigned_words)bytes >> 8);
}

#ifdef __x86_64__
// `first`, then all bytes but the last.
VEC vec_bytes vec_before(uint8_t first, vec_bytes bytes)
{
    __m256i lanes = _mm256_permute2x128_si256(_mm256_set1_epi8((char)first), (__m256i)bytes, 0x20);

    return (vec_bytes)_mm256_alignr_epi8((__m256i)bytes, lanes, 15);
}

// All bytes but the first, then `last`.
VEC vec_bytes vec_behind(vec_bytes bytes, uint8_t last)
{
    __m256i lanes = _mm256_permute2x128_si256((__m256i)bytes, _mm256_set1_epi8((char)last), 0x21);

    return (vec_bytes)_mm256_alignr_epi8(lanes, (__m256i)bytes, 1);
}

VEC vec_bytes vec_least(vec_bytes a, vec_bytes b)
{
    return (vec_bytes)_mm256_min_epu8((__m256i)a, (__m256i)b);
}

// `weight` times the sums of bytes 2 i and 2 i + 1.
VEC vec_words vec_pairs(vec_bytes bytes, int8_t weight)
{
    return (vec_words)_mm256_maddubs_epi16((__m256i)bytes, _mm256_set1_epi8(weight));
}

// |a - b|, or a number with the other sign: for what says that it takes either.
VEC vec_words vec_apart(vec_words a, vec_words b)
{
    return a - b;
}

VEC vec_words vec_abs(vec_words a)
{
    return (vec_words)_mm256_abs_epi16((__m256i)a);
}

// max(|a|, |b|) and |a| + |b| of what vec_apart() made.
VEC vec_words vec_larger(vec_words a, vec_words b)
{
    return (vec_words)_mm256_max_epi16((__m256i)vec_abs(a), (__m256i)vec_abs(b));
}

VEC vec_words vec_total(vec_words a, vec_words b)
{
    return vec_abs(a) + vec_abs(b);
}

// a factor / 2^15, rounded down; a >= 0.
VEC vec_words vec_share(vec_words a, int16_t factor)
{
    return (vec_words)_mm256_mulhi_epu16((__m256i)(a + a), _mm256_set1_epi16(factor));
}

// a factor / 2^15, rounded half up.
VEC vec_words vec_scale(vec_words a, int16_t factor)
{
    return (vec_words)_mm256_mulhrs_epi16((__m256i)a, _mm256_set1_epi16(factor));
}

// The bytes of even pixels (first) and of odd ones (second) in order, those over 255 as 255.
VEC vec_bytes vec_weave(vec_pair words)
{
    const __m128i order = _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);

    return (vec_bytes)_mm256_shuffle_epi8(
        _mm256_packus_epi16((__m256i)words.first, (__m256i)words.second),
        _mm256_broadcastsi128_si256(order));
}

// a² + b² of what vec_apart() made, or instead of a larger one any number from 65281 on, whose root
// is over 255.
VEC vec_sums vec_squares(vec_words a, vec_words b)
{
    __m256i low = _mm256_unpacklo_epi16((__m256i)a, (__m256i)b);
    __m256i high = _mm256_unpackhi_epi16((__m256i)a, (__m256i)b);

    return (vec_sums){_mm256_madd_epi16(low, low), _mm256_madd_epi16(high, high)};
}

VEC vec_sums vec_twice(vec_sums n)
{
    return (vec_sums){_mm256_add_epi32(n.low, n.low), _mm256_add_epi32(n.high, n.high)};
}

// With y the CPU's estimate of 1 / sqrt(n) and s = n y, Newton's step gives sqrt(n) as
// s (3 - s y) / 2. The estimate is off by at most 1.5 / 2^12, its square leaves 2e-7, a tenth of
// the distance of an integer n from the nearest rounding tie below 256. Added to 1.5 * 2^24, where
// floats lie 2 apart, s (3 - s y) is rounded to a multiple of 2: the low 16 bits of the sum are the
// rounded root. For n = 0 the sum is 0 * infinity, a NaN, whose low 16 bits are 0 as well.
VEC __m256i vec_estimated_root(__m256i number)
{
    __m256 n = _mm256_cvtepi32_ps(number), y = _mm256_rsqrt_ps(n);
    __m256 s = _mm256_mul_ps(n, y), step = _mm256_fnmadd_ps(s, y, _mm256_set1_ps(3.0f));

    return _mm256_castps_si256(_mm256_fmadd_ps(s, step, _mm256_set1_ps(0x1.8p24f)));
}

// Added to 1.5 * 2^23, where floats lie 1 apart, the root is rounded. It comes no nearer to a
// rounding tie than 1e-6 of itself.
VEC __m256i vec_divided_root(__m256i number)
{
    __m256 root = _mm256_sqrt_ps(_mm256_cvtepi32_ps(number));

    return _mm256_castps_si256(_mm256_add_ps(root, _mm256_set1_ps(0x1.8p23f)));
}

VEC __m256i vec_turns(__m256i even, __m256i odd)
{
    return _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xaa);
}

// The rounded roots of even and odd pixels, in the order that vec_pack() takes. Half of them come
// from the divider, which has nothing else to do.
VEC vec_pair vec_roots(vec_sums even, vec_sums odd)
{
    return (vec_pair){
        (vec_words)vec_turns(vec_divided_root(even.low), vec_divided_root(odd.low)),
        (vec_words)vec_turns(vec_estimated_root(even.high), vec_estimated_root(odd.high))};
}

// The bytes of such a pair, those over 255 as 255.
VEC vec_bytes vec_pack(vec_pair roots)
{
    return (vec_bytes)_mm256_packus_epi16((__m256i)roots.first, (__m256i)roots.second);
}
// A bit for each of 64 pixels: whether |a - b| > threshold.
VEC uint64_t vec_differ(const uint8_t *a, const uint8_t *b, uint8_t threshold)
{
    const __m256i most = _mm256_set1_epi8((char)threshold), zero = _mm256_setzero_si256();
    uint64_t alike = 0;

    for (unsigned x = 0; x < 64; x += VEC_BYTES) {
        __m256i first = (__m256i)vec_load(a + x), second = (__m256i)vec_load(b + x);
        __m256i apart =
            _mm256_or_si256(_mm256_subs_epu8(first, second), _mm256_subs_epu8(second, first));
        __m256i equal = _mm256_cmpeq_epi8(_mm256_subs_epu8(apart, most), zero);

        alike |= (uint64_t)(uint32_t)_mm256_movemask_epi8(equal) << x;
    }
    return ~alike;
}

// Writes 64 bytes: `set` for each bit that is set, else `clear`, which is less.
VEC void vec_spread(uint64_t bits, uint8_t clear, uint8_t set, uint8_t *to)
{
    const __m256i bytes =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i own = _mm256_set1_epi64x((long long)0x8040201008040201);

    for (unsigned x = 0; x < 64; x += VEC_BYTES) {
        __m256i all = _mm256_shuffle_epi8(_mm256_set1_epi32((int)(uint32_t)(bits >> x)), bytes);
        vec_bytes mask = (vec_bytes)_mm256_cmpeq_epi8(_mm256_and_si256(all, own), own);

        vec_store(to + x, (mask & (uint8_t)(set - clear)) + clear);
    }
}

// Writes a² + b² + c, in order, for even words of any sign and 0 <= c <= 3. Returns the larger of
// each two of them.
VEC vec_longs vec_store_squares(int32_t *to, vec_words a, vec_words b, vec_words c)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i low = _mm256_unpacklo_epi16((__m256i)a, (__m256i)b);
    __m256i high = _mm256_unpackhi_epi16((__m256i)a, (__m256i)b);

    low = _mm256_or_si256(_mm256_madd_epi16(low, low), _mm256_unpacklo_epi16((__m256i)c, zero));
    high = _mm256_or_si256(_mm256_madd_epi16(high, high), _mm256_unpackhi_epi16((__m256i)c, zero));
    _mm256_storeu_si256((__m256i *)to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(to + 8), _mm256_permute2x128_si256(low, high, 0x31));
    return (vec_longs)_mm256_max_epi32(low, high);
}

VEC vec_longs vec_larger_longs(vec_longs a, vec_longs b)
{
    return (vec_longs)_mm256_max_epi32((__m256i)a, (__m256i)b);
}

VEC int32_t vec_largest(vec_longs a)
{
    __m128i four =
        _mm_max_epi32(_mm256_castsi256_si128((__m256i)a), _mm256_extracti128_si256((__m256i)a, 1));
    __m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(1, 0, 3, 2)));

    return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, _MM_SHUFFLE(2, 3, 0, 1))));
}

// a & ~b: of comparisons gcc makes more instructions out of that.
VEC vec_longs vec_without(vec_longs a, vec_longs b)
{
    return (vec_longs)_mm256_andnot_si256((__m256i)b, (__m256i)a);
}

// Where `bit` is set, for vec_choose().
VEC vec_longs vec_test(vec_longs a, int bit)
{
    return a << (31 - bit);
}

VEC vec_longs vec_choose(vec_longs where, vec_longs yes, vec_longs no)
{
    return (vec_longs)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)where);
}

// A bit for each of 16 comparisons.
VEC uint64_t vec_bits(const vec_longs where[16 / VEC_LONGS])
{
    return (uint64_t)((unsigned)_mm256_movemask_ps((__m256)where[0]) |
                      (unsigned)_mm256_movemask_ps((__m256)where[1]) << 8);
}
#else
VEC vec_bytes vec_before(uint8_t first, vec_bytes bytes)
{
    return vextq_u8(vdupq_n_u8(first), bytes, 15);
}

VEC vec_bytes vec_behind(vec_bytes bytes, uint8_t last)
{
    return vextq_u8(bytes, vdupq_n_u8(last), 1);
}

VEC vec_bytes vec_least(vec_bytes a, vec_bytes b)
{
    return vminq_u8(a, b);
}

VEC vec_words vec_pairs(vec_bytes bytes, int8_t weight)
{
    return vreinterpretq_s16_u16(vpaddlq_u8(bytes)) * weight;
}

VEC vec_words vec_apart(vec_words a, vec_words b)
{
    return vabdq_s16(a, b);
}

VEC vec_words vec_larger(vec_words a, vec_words b)
{
    return vmaxq_s16(a, b);
}

VEC vec_words vec_total(vec_words a, vec_words b)
{
    return a + b;
}

VEC vec_words vec_abs(vec_words a)
{
    return vabsq_s16(a);
}

VEC vec_words vec_share(vec_words a, int16_t factor)
{
    return vqdmulhq_n_s16(a, factor);
}

VEC vec_words vec_scale(vec_words a, int16_t factor)
{
    return vqrdmulhq_n_s16(a, factor);
}

VEC vec_bytes vec_weave(vec_pair words)
{
    const vec_words most = vdupq_n_s16(255);

    return vtrn1q_u8(vreinterpretq_u8_s16(vminq_s16(words.first, most)),
                     vreinterpretq_u8_s16(vminq_s16(words.second, most)));
}

VEC vec_sums vec_squares(vec_words a, vec_words b)
{
    uint8x16_t both =
        vqmovn_high_u16(vqmovn_u16(vreinterpretq_u16_s16(a)), vreinterpretq_u16_s16(b));
    uint8x8_t low = vget_low_u8(both);

    return vqaddq_u16(vmull_u8(low, low), vmull_high_u8(both, both));
}

VEC vec_sums vec_twice(vec_sums n)
{
    return vqaddq_u16(n, n);
}

// The rounded root of a float, less than 1 off: `bits` are those of 2^23 + n, where floats lie 1
// apart. It is the root of n + 1, as 1 / sqrt(0) is no number.
VEC float32x4_t vec_near_root(uint16x8_t bits)
{
    float32x4_t n = vsubq_f32(vreinterpretq_f32_u16(bits), vdupq_n_f32(0x1p23f - 1));

    return vaddq_f32(vmulq_f32(n, vrsqrteq_f32(n)), vdupq_n_f32(0x1p23f));
}

// An estimate c less than 1.5 off; n - c² says which of c - 1, c and c + 1 is nearest.
VEC vec_words vec_root(vec_sums n)
{
    const uint16x8_t exponent = vdupq_n_u16(0x4b00); // of 2^23
    uint16x8_t near = vuzp1q_u16(vreinterpretq_u16_f32(vec_near_root(vzip1q_u16(n, exponent))),
                                 vreinterpretq_u16_f32(vec_near_root(vzip2q_u16(n, exponent))));
    int16x8_t c = vreinterpretq_s16_u16(near), rest = vmlsq_s16(vreinterpretq_s16_u16(n), c, c);
    int16x8_t up = vreinterpretq_s16_u16(vcgtq_s16(rest, c));
    int16x8_t down = vreinterpretq_s16_u16(vclezq_s16(vaddq_s16(rest, c)));

    return vaddq_s16(vsubq_s16(c, up), down);
}

VEC vec_pair vec_roots(vec_sums even, vec_sums odd)
{
    return (vec_pair){vec_root(even), vec_root(odd)};
}

VEC vec_bytes vec_pack(vec_pair roots)
{
    return vec_weave(roots);
}

VEC uint64_t vec_differ(const uint8_t *a, const uint8_t *b, uint8_t threshold)
{
    const uint8x16_t weights = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    uint8x16_t bits[4], halves[2], all;

    for (unsigned i = 0; i < 4; i++) {
        uint8x16_t apart = vabdq_u8(vld1q_u8(a + 16 * i), vld1q_u8(b + 16 * i));

        bits[i] = vcgtq_u8(apart, vdupq_n_u8(threshold)) & weights;
    }
    halves[0] = vpaddq_u8(bits[0], bits[1]);
    halves[1] = vpaddq_u8(bits[2], bits[3]);
    all = vpaddq_u8(halves[0], halves[1]);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

VEC void vec_spread(uint64_t bits, uint8_t clear, uint8_t set, uint8_t *to)
{
    const uint8x16_t own = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));

    for (unsigned x = 0; x < 64; x += VEC_BYTES) {
        uint8x8_t first = vdup_n_u8((uint8_t)(bits >> x));
        uint8x8_t second = vdup_n_u8((uint8_t)(bits >> (x + 8)));
        vec_bytes mask = vtstq_u8(vcombine_u8(first, second), own);

        vec_store(to + x, (mask & (uint8_t)(set - clear)) + clear);
    }
}

VEC vec_longs vec_store_squares(int32_t *to, vec_words a, vec_words b, vec_words c)
{
    int16x4_t low_a = vget_low_s16(a), low_b = vget_low_s16(b);
    int32x4_t low = vmlal_s16(vmovl_s16(vget_low_s16(c)), low_a, low_a);
    int32x4_t high = vmlal_high_s16(vmovl_high_s16(c), a, a);

    low = vmlal_s16(low, low_b, low_b);
    high = vmlal_high_s16(high, b, b);
    vst1q_s32(to, low);
    vst1q_s32(to + 4, high);
    return vmaxq_s32(low, high);
}

VEC vec_longs vec_larger_longs(vec_longs a, vec_longs b)
{
    return vmaxq_s32(a, b);
}

VEC int32_t vec_largest(vec_longs a)
{
    return vmaxvq_s32(a);
}

VEC vec_longs vec_without(vec_longs a, vec_longs b)
{
    return vbicq_s32(a, b);
}

VEC vec_longs vec_test(vec_longs a, int bit)
{
    return vreinterpretq_s32_u32(vtstq_s32(a, vdupq_n_s32(1 << bit)));
}

VEC vec_longs vec_choose(vec_longs where, vec_longs yes, vec_longs no)
{
    return vbslq_s32(vreinterpretq_u32_s32(where), yes, no);
}

VEC uint64_t vec_bits(const vec_longs where[16 / VEC_LONGS])
{
    const uint8x16_t weights = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    int16x8_t low = vuzp1q_s16(vreinterpretq_s16_s32(where[0]), vreinterpretq_s16_s32(where[1]));
    int16x8_t high = vuzp1q_s16(vreinterpretq_s16_s32(where[2]), vreinterpretq_s16_s32(where[3]));
    uint8x16_t bits = vuzp1q_u8(vreinterpretq_u8_s16(low), vreinterpretq_u8_s16(high)) & weights;

    bits = vpaddq_u8(bits, bits);
    bits = vpaddq_u8(bits, bits);
    bits = vpaddq_u8(bits, bits);
    return vgetq_lane_u16(vreinterpretq_u16_u8(bits), 0);
}
#endif
#else
static inline bool vec_supported(void)
{
    return false;
}
#endif
