//! Random numbers from a seed, with no state but the generator itself: the same on every machine (Gaussian
//! ones up to the last bit of its logarithm).
//!
//! xoshiro256++ (Blackman and Vigna, *Scrambled linear pseudorandom number generators*, 2021), its state
//! filled by splitmix64 as its authors advise.

/// A seeded generator. Equal seeds give equal sequences.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Random { state: std::array::from_fn(|_| splitmix64(&mut state)) }
    }

    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform in 0..count, without bias. `count` must not be 0.
    pub fn below(&mut self, count: usize) -> usize {
        assert!(count > 0, "a choice among nothing");
        let count = count as u64;
        // Draws beyond the last whole multiple of count would favour the small values.
        let rejected = u64::MAX - (u64::MAX % count + 1) % count;
        loop {
            let bits = self.bits();
            if bits <= rejected {
                return (bits % count) as usize;
            }
        }
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Normally distributed, by Marsaglia's polar method.
    pub fn gaussian(&mut self, mean: f64, deviation: f64) -> f64 {
        loop {
            let (x, y) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return mean + deviation * x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    /// Puts the items in a uniformly random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// A deterministic pseudo-random number in [0, 1) (splitmix64's finaliser).
pub(crate) fn scatter(of: u64) -> f64 {
    let mut z = of.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_those_of_the_published_generators() {
        let mut state = 1234567;
        let seeds: [u64; 3] = std::array::from_fn(|_| splitmix64(&mut state));
        assert_eq!(seeds, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
        let mut random = Random { state: [1, 2, 3, 4] };
        let bits: [u64; 5] = std::array::from_fn(|_| random.bits());
        assert_eq!(bits, [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205]);
    }

    #[test]
    fn moments_and_frequencies_are_as_they_should_be() {
        let mut random = Random::new(7);
        let draws: Vec<f64> = (0..100_000).map(|_| random.gaussian(100.0, 20.0)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        // Five standard errors: 20 / √100000 for the mean, 20 / √200000 for the deviation.
        assert!((mean - 100.0).abs() < 0.32, "mean {mean}");
        assert!((variance.sqrt() - 20.0).abs() < 0.23, "deviation {}", variance.sqrt());
        let mut counts = [0; 6];
        (0..60_000).for_each(|_| counts[random.below(6)] += 1);
        assert!(counts.iter().all(|&count: &i32| (count - 10_000).abs() < 460), "{counts:?}");
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_moves_them() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(1).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<u32>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<u32>>());
    }
}
