//! When a stream's sender offers and its receiver accepts.

use std::fmt;
use std::str::FromStr;

use rand::Rng;

use super::StimulusRng;

/// A way of stalling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Every end is always willing.
    None,
    /// Each end is willing with a probability that changes from time to time.
    Random,
    /// One end of a channel idles in 3 of 4 cycles while the other is willing; which one changes from time to time.
    Skewed,
    /// Long stalls, single-cycle pulses, ends that wait for each other or dodge each other.
    Worst,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 4] = [Profile::None, Profile::Random, Profile::Skewed, Profile::Worst];

    /// The name that the command line takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Profile::None => "none",
            Profile::Random => "random",
            Profile::Skewed => "skewed",
            Profile::Worst => "worst",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Profile::ALL
            .into_iter()
            .find(|p| p.name() == s)
            .ok_or_else(|| format!("unknown stall profile '{s}': known are none, random, skewed, worst"))
    }
}

/// How one end behaves for a while. `seen` is what the engine shows at that port: valid to a receiver, ready to a
/// sender.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Willing,
    /// Willing in so many of 256 cycles.
    Chance(u8),
    Never,
    /// Willing in one of so many cycles.
    Pulse(u32),
    /// Willing only while the engine shows the other half of the handshake.
    IfSeen,
    /// Willing only while it does not (a sender then holds its offer).
    UnlessSeen,
    /// Willing only if it was not shown in the cycle before.
    UnlessSeenBefore,
    /// Willing once it was shown for so many cycles.
    After(u32),
}

#[derive(Clone, Debug)]
struct End {
    mode: Mode,
    /// Cycles in this mode, cycles that `seen` has lasted, `seen` in the cycle before.
    age: u32,
    seen_for: u32,
    seen_before: bool,
}

impl End {
    const NEW: End = End {
        mode: Mode::Willing,
        age: 0,
        seen_for: 0,
        seen_before: false,
    };

    fn set(&mut self, mode: Mode) {
        self.mode = mode;
        self.age = 0;
    }

    fn willing(&mut self, rng: &mut StimulusRng, seen: bool) -> bool {
        let willing = match self.mode {
            Mode::Willing => true,
            Mode::Chance(c) => rng.random::<u8>() < c,
            Mode::Never => false,
            Mode::Pulse(period) => self.age % period == period - 1,
            Mode::IfSeen => seen,
            Mode::UnlessSeen => !seen,
            Mode::UnlessSeenBefore => !self.seen_before,
            Mode::After(n) => seen && self.seen_for >= n,
        };
        self.age += 1;
        self.seen_for = if seen && !willing { self.seen_for + 1 } else { 0 };
        self.seen_before = seen;
        willing
    }
}

/// The stalls of one channel: its sender and its receiver.
#[derive(Clone, Debug)]
pub struct Stalls {
    profile: Profile,
    rng: StimulusRng,
    sender: End,
    receiver: End,
    /// Cycles until the sender's and the receiver's mode change.
    sender_left: u32,
    receiver_left: u32,
}

impl Stalls {
    /// Stalls of a profile; the same generator gives the same stalls.
    #[must_use]
    pub fn new(profile: Profile, rng: StimulusRng) -> Stalls {
        Stalls {
            profile,
            rng,
            sender: End::NEW,
            receiver: End::NEW,
            sender_left: 0,
            receiver_left: 0,
        }
    }

    /// For one cycle: whether the sender offers (if it has something) and whether the receiver is ready.
    /// `s_ready` and `m_valid` are the engine's outputs in this cycle.
    pub fn next(&mut self, s_ready: bool, m_valid: bool) -> (bool, bool) {
        match self.profile {
            Profile::None => return (true, true),
            Profile::Skewed => {
                if self.sender_left == 0 {
                    self.sender_left = self.rng.random_range(200..2000);
                    let quarter = Mode::Chance(64);
                    let (s, r) = match self.rng.random_range(0..10) {
                        0..4 => (quarter, Mode::Willing),
                        4..8 => (Mode::Willing, quarter),
                        8 => (Mode::Willing, Mode::Willing),
                        _ => (quarter, quarter),
                    };
                    self.sender.set(s);
                    self.receiver.set(r);
                }
                self.sender_left -= 1;
            }
            Profile::Random | Profile::Worst => {
                for (end, left) in [
                    (&mut self.sender, &mut self.sender_left),
                    (&mut self.receiver, &mut self.receiver_left),
                ] {
                    if *left == 0 {
                        let (mode, cycles) = draw(self.profile, &mut self.rng);
                        end.set(mode);
                        *left = cycles;
                    }
                    *left -= 1;
                }
            }
        }
        (
            self.sender.willing(&mut self.rng, s_ready),
            self.receiver.willing(&mut self.rng, m_valid),
        )
    }
}

/// A mode and how long it lasts.
fn draw(profile: Profile, rng: &mut StimulusRng) -> (Mode, u32) {
    if profile == Profile::Random {
        let chance = [26, 64, 128, 192, 230, 255][rng.random_range(0..6)];
        return (Mode::Chance(chance), rng.random_range(50..500));
    }
    match rng.random_range(0..10) {
        0 => (Mode::Never, rng.random_range(1..300)),
        1 => (Mode::Never, rng.random_range(1..8)),
        2 => (Mode::Willing, rng.random_range(1..8)),
        3 => (Mode::Willing, rng.random_range(20..200)),
        4 => (Mode::Pulse(rng.random_range(2..20)), rng.random_range(40..200)),
        5 => (Mode::IfSeen, rng.random_range(20..100)),
        6 => (Mode::UnlessSeen, rng.random_range(5..50)),
        7 => (Mode::UnlessSeenBefore, rng.random_range(20..100)),
        8 => (Mode::After(rng.random_range(1..6)), rng.random_range(20..100)),
        _ => (Mode::Chance(rng.random_range(10..250)), rng.random_range(20..200)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cosim::rng;

    /// Share of cycles in which the sender offers and the receiver is ready, against an engine that always answers.
    fn shares(profile: Profile) -> (f64, f64) {
        let mut stalls = Stalls::new(profile, rng(3, 0));
        let n = 200_000;
        let (mut s, mut r) = (0, 0);
        for _ in 0..n {
            let (offer, accept) = stalls.next(true, true);
            s += u32::from(offer);
            r += u32::from(accept);
        }
        (f64::from(s) / f64::from(n), f64::from(r) / f64::from(n))
    }

    #[test]
    fn profiles_stall_as_much_as_they_say() {
        assert_eq!(shares(Profile::None), (1.0, 1.0));
        for profile in [Profile::Random, Profile::Skewed, Profile::Worst] {
            let (s, r) = shares(profile);
            for share in [s, r] {
                assert!((0.25..0.85).contains(&share), "{profile}: {share}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_stalls() {
        for profile in Profile::ALL {
            let (mut a, mut b) = (Stalls::new(profile, rng(9, 1)), Stalls::new(profile, rng(9, 1)));
            for i in 0..5000 {
                assert_eq!(a.next(i % 3 > 0, i % 5 > 1), b.next(i % 3 > 0, i % 5 > 1));
            }
        }
    }
}
