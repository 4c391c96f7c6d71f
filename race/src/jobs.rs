//! The bench of formic-nats: a package of its own, which cargo builds and runs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use clap::Args;

use crate::cli::{ROUNDS, within};

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/jobs/Cargo.toml");

/// The variable that names the server.
const SERVER: &str = "NATS_SERVER";

/// The options of `jobs`.
#[derive(Args, Debug)]
pub(crate) struct JobsOptions {
    /// How many rounds are measured, after one more that is thrown away
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = within::<u64>(ROUNDS))]
    rounds: u64,
}

/// Why there are no results.
#[derive(Debug)]
pub(crate) enum JobsError {
    /// The program that `NATS_SERVER` names is not there.
    NotThere(PathBuf),
    /// No server is in the path.
    NoServer,
    /// The sources that this program was built from are gone.
    NoPackage(PathBuf),
    /// Cargo could not be started.
    NoCargo(io::Error),
    /// The package could not be built, or its run failed. It has said why.
    Failed(ExitStatus),
}

impl fmt::Display for JobsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobsError::NotThere(path) => {
                write!(f, "{SERVER} names {}, which is not a file", path.display())
            }
            JobsError::NoServer => {
                write!(f, "there is no nats-server in the path, and {SERVER} is not set")
            }
            JobsError::NoPackage(manifest) => write!(f, "there is no {}", manifest.display()),
            JobsError::NoCargo(error) => write!(f, "cargo could not be started: {error}"),
            JobsError::Failed(status) => write!(f, "the bench ended with {status}"),
        }
    }
}

/// Builds the bench and runs it. It prints its results.
pub(crate) fn run(options: &JobsOptions) -> Result<(), JobsError> {
    let named = env::var_os(SERVER);
    let server = server(named, env::var_os("PATH").as_deref())?;
    let manifest = package(Path::new(MANIFEST))?;
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--release", "--locked", "--manifest-path"])
        .arg(manifest)
        .args(["--", &options.rounds.to_string()])
        .env(SERVER, server)
        .status()
        .map_err(JobsError::NoCargo)?;
    if status.success() { Ok(()) } else { Err(JobsError::Failed(status)) }
}

/// The program of the server: the one that is named, or the first in the path.
fn server(named: Option<OsString>, path: Option<&OsStr>) -> Result<PathBuf, JobsError> {
    if let Some(named) = named.map(PathBuf::from) {
        return if named.is_file() { Ok(named) } else { Err(JobsError::NotThere(named)) };
    }
    // Debian has it where only root's path looks.
    let places = env::split_paths(path.unwrap_or_default()).chain(["/usr/sbin".into()]);
    let mut programs = places.map(|place| place.join("nats-server"));
    programs.find(|program| program.is_file()).ok_or(JobsError::NoServer)
}

fn package(manifest: &Path) -> Result<&Path, JobsError> {
    if manifest.is_file() { Ok(manifest) } else { Err(JobsError::NoPackage(manifest.into())) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{JobsError, MANIFEST, package, server};

    #[test]
    fn the_package_is_there_and_another_is_an_error() {
        package(Path::new(MANIFEST)).expect("the package");
        let error = package(Path::new("/nowhere/Cargo.toml")).expect_err("no package");
        assert_eq!(error.to_string(), "there is no /nowhere/Cargo.toml");
    }

    #[test]
    fn a_server_that_is_named_is_taken_or_is_an_error() {
        let program = std::env::current_exe().expect("this program");
        assert_eq!(server(Some(program.clone().into()), None).expect("a file"), program);
        let error = server(Some("/nowhere/nats-server".into()), None).expect_err("no file");
        assert!(matches!(error, JobsError::NotThere(_)), "{error}");
    }
}
