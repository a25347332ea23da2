/* The bound for the hand ranker: the same algorithm in C, compiled by `equipoise bench` with the machine's own
 * compiler at full optimisation. Used for nothing else. */
#include <stdint.h>
#include <stddef.h>

static inline uint16_t rank_of_key(uint64_t key, uint64_t mask, const uint32_t *row_start, const uint16_t *ranks) {
    uint64_t flush = key & (0x8888ull << 32), slot;
    if (!flush) {
        uint64_t low = key & 0xffffffffull;
        slot = row_start[low >> 9] + (low & 511);
    } else if (flush & (8ull << 32)) {
        slot = mask & 0x1fff;
    } else if (flush & (8ull << 36)) {
        slot = mask >> 16 & 0x1fff;
    } else if (flush & (8ull << 40)) {
        slot = mask >> 32 & 0x1fff;
    } else {
        slot = mask >> 48 & 0x1fff;
    }
    return ranks[slot];
}

void rank_sevens(const uint8_t *cards, size_t hands, uint64_t start, const uint64_t *card_key,
                 const uint64_t *card_mask, const uint32_t *row_start, const uint16_t *ranks, uint16_t *out) {
    for (size_t hand = 0; hand < hands; hand++) {
        uint64_t key = start, mask = 0;
        for (int i = 0; i < 7; i++) {
            key += card_key[cards[7 * hand + i]];
            mask |= card_mask[cards[7 * hand + i]];
        }
        out[hand] = rank_of_key(key, mask, row_start, ranks);
    }
}

void rank_boards(const uint8_t *boards, size_t count, uint64_t start, const uint64_t *card_key,
                 const uint64_t *card_mask, const uint32_t *row_start, const uint16_t *ranks, uint16_t *out) {
    for (size_t board = 0; board < count; board++) {
        uint64_t key = start, mask = 0;
        uint32_t live[52], n = 0;
        for (int i = 0; i < 5; i++) {
            key += card_key[boards[5 * board + i]];
            mask |= card_mask[boards[5 * board + i]];
        }
        for (uint32_t card = 0; card < 52; card++)
            if (!(card_mask[card] & mask)) live[n++] = card;
        for (int hole = 0; hole < 1326; hole++) out[hole] = 0xffff;
        for (uint32_t i = 1; i < n; i++) {
            uint64_t key_high = key + card_key[live[i]], mask_high = mask | card_mask[live[i]];
            uint16_t *row = out + live[i] * (live[i] - 1) / 2;
            for (uint32_t j = 0; j < i; j++)
                row[live[j]] = rank_of_key(key_high + card_key[live[j]], mask_high | card_mask[live[j]], row_start, ranks);
        }
    }
}
