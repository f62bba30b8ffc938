//! The names of unfinished copies, beside the names that they get when they are complete.

const BEGIN: &[u8] = b".";
const END: &[u8] = b".broadleaf";

/// The name of an unfinished copy: the same in every push, so that the next one finds it.
pub fn unfinished(name: &[u8]) -> Vec<u8> {
    // The system's limit of a name's length.
    const LONGEST: usize = 255;
    let named = [BEGIN, name, END].concat();
    if named.len() <= LONGEST {
        return named;
    }
    [BEGIN, blake3::hash(name).to_hex().as_bytes(), END].concat()
}

/// Whether a name is one of an unfinished copy.
pub fn is_unfinished(name: &[u8]) -> bool {
    name.len() > BEGIN.len() + END.len() && name.starts_with(BEGIN) && name.ends_with(END)
}

#[cfg(test)]
mod tests {
    use super::{is_unfinished, unfinished};

    #[test]
    fn unfinished_copies_have_names_of_a_length_that_the_system_takes() {
        assert_eq!(unfinished(b"model"), b".model.broadleaf");
        let (one, other) = (unfinished(&[b'x'; 255]), unfinished(&[b'y'; 255]));
        assert!(one.len() <= 255 && one != other);
        assert!(is_unfinished(&one) && is_unfinished(b".x.broadleaf") && !is_unfinished(b".broadleaf"));
    }
}
