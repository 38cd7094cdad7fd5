//! Scratch.
use scrubjay_core::integrity::scheme::Scheme;
use scrubjay_sim::model::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    for scheme in Scheme::ALL {
        if args.len() > 3 && args[3] != scheme.name() { continue; }
        let mut setup = Setup::new(scheme, args[1].parse().unwrap(), args[2].parse().unwrap());
        if args.len() > 4 { setup.steps_max = args[4].parse().ok(); }
        if args.len() > 5 { setup.increment = Increment::Greatest; }
        let start = std::time::Instant::now();
        let o = check(&setup);
        println!("{scheme} {}+{} states {} steps {} complete {} wrong {} errors {} unplanned {} in {:?}", args[1], args[2], o.states, o.steps, o.is_complete, o.wrong, o.errors, o.unplanned, start.elapsed());
        for s in &o.stories { for l in s { println!("    {l}"); } println!("    --"); }
    }
}
