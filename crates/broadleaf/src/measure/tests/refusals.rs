//! Refused settings of a measurement.

use crate::measure::{MeasureError, Probe, ProbeSettings, RankHost};

#[test]
fn bad_settings_are_refused_in_one_line() {
    let ranks = vec![RankHost { host: "a".to_string(), cores: 2 }; 2];
    let refuse = |ranks: &[RankHost], change: fn(&mut ProbeSettings)| -> MeasureError {
        let mut settings = ProbeSettings::new("x");
        change(&mut settings);
        Probe::new(ranks, settings).err().expect("a refusal")
    };
    let refusals = [
        (refuse(&[], |_| ()), "no ranks"),
        (refuse(&ranks, |settings| settings.tolerance = -0.1), "tolerance -0.1"),
        (refuse(&ranks, |settings| settings.tolerance = f64::NAN), "tolerance NaN"),
        (refuse(&ranks, |settings| settings.budget_s = Some(0.0)), "budget of 0 s"),
        (refuse(&ranks, |settings| settings.largest_bytes = 7), "7 bytes"),
    ];
    for (error, fact) in refusals {
        let line = error.to_string();
        assert!(line.contains(fact) && !line.contains('\n'), "{line}");
    }
    let unfinished = Probe::new(&ranks, ProbeSettings::new("x")).unwrap().platform().unwrap_err();
    assert!(matches!(unfinished, MeasureError::Unfinished));
}
