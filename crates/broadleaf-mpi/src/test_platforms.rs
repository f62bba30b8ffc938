//! Platforms of several tests.

use broadleaf::platform::{LinkClass, Mesh, Platform, PlatformBuilder, PortModel};

/// Hosts `n0`, `n1` and so on, each two of them with the same link.
pub fn equal_hosts(count: u32, port_model: PortModel, link: LinkClass) -> Platform {
    let mut builder = PlatformBuilder::new("equal hosts", port_model);
    let nodes = (0..count).map(|host| builder.add_host(format!("n{host}")).unwrap()).collect();
    let class = builder.add_class(link);
    builder.add_mesh(Mesh { nodes, class }).unwrap();
    builder.build().unwrap()
}
