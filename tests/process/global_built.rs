//! A global pool that was built: it has the settings it was given. One test, because there is one
//! global pool per process.

use crate::common::own_process::in_its_own_process;
use formic::{BuildError, Pool};

#[test]
fn what_was_built_first_is_the_global_pool() {
    if in_its_own_process("global_built::what_was_built_first_is_the_global_pool") {
        return;
    }
    let faulty = Pool::builder().workers(0).build_global();
    assert_eq!(faulty.unwrap_err().setting(), Some("workers"), "this leaves none behind");
    Pool::builder().workers(1..=3).name("ours").build_global().unwrap();
    assert_eq!((formic::global().capacity(), formic::global().workers()), (3, 1));
    let name = formic::spawn(|| std::thread::current().name().map(str::to_owned)).unwrap();
    assert!(name.join().unwrap().unwrap().starts_with("ours-"));
    assert!(matches!(Pool::builder().build_global(), Err(BuildError::GlobalExists)));
    assert_eq!(formic::global().capacity(), 3);
}
