//! Typed indices, so that a node cannot be taken for a cluster.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into lists by id.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// A node's index in the platform file; all ties go to the smaller one.
    NodeId
);
id!(
    /// A shared resource's index in the platform file.
    SharedId
);
id!(
    /// A set of links with equal properties.
    LinkClassId
);
id!(
    /// A cluster, in order of first appearance.
    ClusterId
);
