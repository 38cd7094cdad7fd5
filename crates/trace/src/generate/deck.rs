//! A deck of cards, each dealt once before any is dealt again, so that a run has exactly the measured values.

/// The largest deck, in cards: 2 MiB of bits, and enough for a week of 27 long gaps per second.
const CARDS_MAX: u64 = 1 << 24;

/// The cards `0..cards`, of which the one nearest to the wanted one is dealt.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    /// A bit for each card not yet dealt.
    words: Vec<u64>,
    cards: u64,
    cards_left: u64,
}

impl Deck {
    /// A deck of `cards` cards, limited to 1..=2^24.
    pub(super) fn new(cards: u64) -> Deck {
        let mut deck = Deck { words: Vec::new(), cards: cards.clamp(1, CARDS_MAX), cards_left: 0 };
        deck.refill();
        deck
    }

    /// The number of cards in the full deck.
    pub(super) fn cards(&self) -> u64 {
        self.cards
    }

    /// Deals the card nearest to a rank in 0..=1. After the last card the deck is full again.
    pub(super) fn deal(&mut self, rank: f64) -> u64 {
        let wanted = ((rank * self.cards as f64) as u64).min(self.cards - 1);
        let card = match (self.nearest_above(wanted), self.nearest_below(wanted)) {
            (Some(up), Some(down)) => {
                if up - wanted <= wanted - down {
                    up
                } else {
                    down
                }
            }
            (Some(card), None) | (None, Some(card)) => card,
            (None, None) => unreachable!("a deck is never empty"),
        };
        self.words[(card / 64) as usize] &= !(1 << (card % 64));
        self.cards_left -= 1;
        if self.cards_left == 0 {
            self.refill();
        }
        card
    }

    fn refill(&mut self) {
        self.words.clear();
        self.words.resize(self.cards.div_ceil(64) as usize, u64::MAX);
        if let (Some(last), 1..) = (self.words.last_mut(), self.cards % 64) {
            *last = (1 << (self.cards % 64)) - 1;
        }
        self.cards_left = self.cards;
    }

    /// The lowest card left from `card` on.
    fn nearest_above(&self, card: u64) -> Option<u64> {
        let word = (card / 64) as usize;
        let first = self.words[word] & (u64::MAX << (card % 64));
        let (index, bits) = std::iter::once((word, first))
            .chain((word + 1..self.words.len()).map(|index| (index, self.words[index])))
            .find(|(_, bits)| *bits != 0)?;
        Some(index as u64 * 64 + u64::from(bits.trailing_zeros()))
    }

    /// The highest card left up to `card`.
    fn nearest_below(&self, card: u64) -> Option<u64> {
        let word = (card / 64) as usize;
        let first = self.words[word] & (u64::MAX >> (63 - card % 64));
        let (index, bits) = std::iter::once((word, first))
            .chain((0..word).rev().map(|index| (index, self.words[index])))
            .find(|(_, bits)| *bits != 0)?;
        Some(index as u64 * 64 + u64::from(63 - bits.leading_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::rng::Rng;

    #[test]
    fn every_card_once_then_again() {
        let mut rng = Rng::new(1);
        for cards in [1, 2, 63, 64, 65, 1000] {
            let mut deck = Deck::new(cards);
            for _ in 0..3 {
                let mut dealt: Vec<u64> = (0..cards).map(|_| deck.deal(rng.uniform())).collect();
                dealt.sort_unstable();
                assert_eq!(dealt, (0..cards).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_nearest_card_is_dealt() {
        let mut deck = Deck::new(200);
        let dealt = [(); 4].map(|()| deck.deal(0.5));
        assert_eq!(dealt, [100, 101, 99, 102]);
        assert_eq!((deck.deal(0.0), deck.deal(0.0), deck.deal(1.0)), (0, 1, 199));
    }
}
