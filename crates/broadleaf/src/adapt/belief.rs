//! One estimated number: a single deviating sample counts as an outlier, a second that agrees with it as a change.

/// An estimated number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Belief {
    value: f64,
    /// The last sample, if it deviated.
    misfit: Option<f64>,
}

impl Belief {
    pub fn new(value: f64) -> Belief {
        Belief { value, misfit: None }
    }

    pub fn value(&self) -> f64 {
        self.value
    }

    /// Whether the last sample agreed with the estimate.
    pub fn is_settled(&self) -> bool {
        self.misfit.is_none()
    }

    /// Takes in a sample; one close to `normal` counts as `normal`. True if the estimate changes.
    pub fn see(
        &mut self,
        seen: f64,
        normal: f64,
        alike: impl Fn(f64, f64) -> bool,
        mean: impl Fn(f64, f64) -> f64,
    ) -> bool {
        if alike(seen, self.value) {
            self.misfit = None;
            return false;
        }
        let Some(before) = self.misfit.replace(seen).filter(|&before| alike(before, seen)) else {
            return false;
        };
        let agreed = mean(before, seen);
        let begun_or_ended = if alike(agreed, normal) { normal } else { agreed };
        self.misfit = None;
        let before = std::mem::replace(&mut self.value, begun_or_ended);
        before != begun_or_ended
    }
}
